# The RULES of nccltune-lint(1), from what `nccltune lint --list-rules` prints, behind the page's own line about them:
#     nccltune lint --list-rules | awk -f man/lint-rules.awk - man/nccltune-lint.1
BEGIN {
    split("Names,Values,Ranges and effect,Settings that do not go together,Devices,The form of a document", themes, ",")
}
FNR == NR {
    theme = substr($1, 3, 1)
    if (theme != last)
        list = list ".SS " themes[theme] "\n"
    last = theme
    head = $1 " " $3
    title = $0
    sub(/^[^ ]+ +[^ ]+ +[^ ]+ +/, "", title)
    gsub(/-/, "\\-", head)
    gsub(/-/, "\\-", title)
    list = list ".TP\n.B " head "\n(" $2 ") " title ".\n"
    next
}
/^\.\\" The build puts/ {
    printf "%s", list
    next
}
{ print }
