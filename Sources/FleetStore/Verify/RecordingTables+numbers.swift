package import Fleet

extension RecordingTables {
  package func readNumbers(
    of fleets: [String],
    _ body: (_ vehicle: VehicleKey, _ epoch: String, _ seq: Int64) throws(FleetError) -> Bool
  ) throws(FleetError) {
    var selection = RecordingSelection()
    selection.fleets = fleets
    let condition = selection.condition(time: "time", Self.dialect.parameter)
    try read(
      """
      SELECT fleet, vehicle, epoch, seq FROM \(Self.dialect.schema)messages
        WHERE epoch IS NOT NULL AND seq IS NOT NULL AND \(condition.sql)
      """, condition.values
    ) { row throws(FleetError) in
      guard let fleet = row.text(0), let vehicle = row.text(1), let epoch = row.text(2),
        let seq = row.integer(3)
      else { return true }
      return try body(VehicleKey(fleet: fleet, vehicle: vehicle), epoch, seq)
    }
  }
}
