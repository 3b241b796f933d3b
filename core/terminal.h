/* Standard output for text from anywhere: names in results, logs, topologies. */
#pragma once

/* Puts a stream in the place of stdout that writes '?' for what a terminal would act on: control characters but line
 * ends and tabs, those of UTF-8 (U+0080 to U+009F) included. Our own colours pass: "\033[0m" and "\033[4N;3Nm". */
void terminal_guard_stdout(void);
