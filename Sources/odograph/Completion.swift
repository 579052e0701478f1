internal import ArgumentParser
internal import CommandHelp

struct Completion: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completion",
    abstract: "Prints a script that completes commands in a shell.",
    discussion: """
      The script completes commands, options and their values with the Tab key. The Debian packages install it for \
      all three shells. From a clone, create the folder, write the script to the file for your shell, and start a new \
      shell:

        odograph completion bash >~/.local/share/bash-completion/completions/odograph
        odograph completion zsh >~/.zfunc/_odograph
        odograph completion fish >~/.config/fish/completions/odograph.fish

      bash requires the package bash-completion. For zsh, ~/.zshrc must contain these \
      lines: fpath=(~/.zfunc $fpath) and autoload -Uz compinit && compinit. The script for the \
      agent is printed by odographd --generate-completion-script SHELL.

      Examples:
        odograph completion bash >odograph.bash
        odograph completion fish | grep -c simulate

      Exit codes: 0 done; 64 usage; 74 output not writable.
      """)

  /// A shell with a completion script.
  enum Shell: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish

    var kind: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }

  @Argument(help: "The shell.")
  var shell: Shell

  func run() { print(CommandProgram.completionScript(of: Odograph.self, for: shell.kind)) }
}
