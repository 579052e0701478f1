// Callers of this module use the values that its types accept and return.
@_exported public import VehicleData
