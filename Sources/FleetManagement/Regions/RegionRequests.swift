package import Fleet
internal import JSON

extension DocumentSession {
  /// Publishes desired regions.
  ///
  /// - Parameters:
  ///   - wanted: the desired regions of each vehicle.
  ///   - version: the name of this change.
  ///   - timeout: the seconds to wait for reports; 0 to wait only for the broker's acknowledgements.
  package func request(
    _ vehicles: [VehicleKey], regions wanted: [VehicleKey: RegionDocument], version: String, timeout: Double
  ) -> VehicleRequests {
    let documents = wanted.mapValues { $0.json(version: version) }
    return request(vehicles, timeout: timeout) {
      documents[$0]?.text ?? ""
    } outcome: { key, json in
      // Reports about other documents are ignored. A report without a version was sent after this request, so
      // it is about this document.
      guard let own = wanted[key], json["version"]?.string ?? version == version else { return nil }
      let report = VehicleDocuments(desired: documents[key], reported: json)
      guard !report.reportsFile else { return nil }
      let accepted = Set(report.acceptedRegions ?? [])
      let refusals = own.features.compactMap { feature in
        report.refusal(of: feature.identifier).map { "\(feature.identifier) \($0)" }
      }
      let problems = refusals + [json["problem"]?.string].compactMap { $0 }
      return VehicleOutcome(
        state: "reported", problems: problems, isGood: problems.isEmpty,
        accepted: own.features.count { accepted.contains($0.identifier) })
    }
  }
}
