extension UTCTime {
  /// The year with the elapsed part of it as a fraction, as in 2027.5: how geophysical models state dates.
  public var decimalYear: Double {
    let year = date.year
    guard let start = UTCTime(year: year, month: 1, day: 1),
      let end = UTCTime(year: year + 1, month: 1, day: 1)
    else { return Double(year) }
    return Double(year) + seconds(since: start) / end.seconds(since: start)
  }
}
