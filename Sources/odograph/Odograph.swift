internal import ArgumentParser

@main
struct Odograph: ParsableCommand {
}
