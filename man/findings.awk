# The KINDS of nccltune-findings(7), from what `nccltune probe --list-findings` prints, where the page says so:
#     nccltune probe --list-findings | awk -f man/findings.awk - man/nccltune-findings.7
FNR == NR {
    severity = $2
    id = $1
    text = $0
    sub(/^[^ ]+ +[^ ]+ +/, "", text)
    gsub(/-/, "\\-", id)
    gsub(/-/, "\\-", text)
    list = list ".TP\n.B " id "\n(" severity ")\n" text "\n"
    next
}
/^\.\\" The build puts/ {
    printf "%s", list
    next
}
{ print }
