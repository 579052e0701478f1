internal import Logging
internal import Platform
internal import Sensors
internal import Spatial
