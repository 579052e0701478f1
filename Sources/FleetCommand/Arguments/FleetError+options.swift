package import Fleet

extension FleetError {
  /// The sentence for the user of a command: an invalid setting has the name of its option.
  package var commandText: String {
    guard let setting else { return description }
    var error = self
    error.object = "--" + String(setting.map { $0 == " " ? "-" : $0 }) + object.dropFirst(setting.count)
    return error.description
  }
}

/// Does work whose failure can be avoided with an option, and adds that advice to the failure's cause.
package func advising<Result>(
  _ advice: String, _ work: () throws(FleetError) -> Result
) throws(FleetError) -> Result {
  do throws(FleetError) { return try work() } catch {
    var error = error
    error.cause += advice
    throw error
  }
}
