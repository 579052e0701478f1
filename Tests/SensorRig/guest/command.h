// Runs commands in the guest for a connection.
#pragma once

#include <stdio.h>

// Runs `command` with the shell and sends "1 <line of stdout>", "2 <line of stderr>" and finally "exit <code>" (128 +
// signal if terminated by a signal). A line "signal NAME" from the connection is sent to the command's process group.
// Closing the connection sends SIGKILL to it.
void run_command(const char *command, FILE *in, FILE *out);
