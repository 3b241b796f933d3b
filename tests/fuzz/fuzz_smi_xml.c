/* What nvidia-smi -q -x prints: whatever comes in, it is a topology that can be printed, or an error. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_import(data, size, import_smi_xml);
}
