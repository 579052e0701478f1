// Running a command in the guest on behalf of a connection.
#pragma once

#include <stdio.h>

// Runs `command` with the shell and sends "1 <line of stdout>", "2 <line of stderr>" and at last "exit <code>"
// (128 + signal when a signal ended it). A line "signal NAME" from the connection goes to the command's process
// group, and so does SIGKILL when the connection closes.
void run_command(const char *command, FILE *in, FILE *out);
