// Written by Deploy/openapi.py.
declare namespace Server {
  type Error = { error: { code: string; message: string; remedy?: string } };
  type VehicleName = string;
  type Feature = { type: "Feature"; id?: (string | number); geometry: (Record<string, any> | null); properties: (Record<string, any> | null) };
  type FeatureCollection = { type: "FeatureCollection"; features: Array<Feature> };
  type RegionFeature = { type: "Feature"; id: string; geometry: ({ type: "Point"; coordinates: Array<number> } | { type: "Polygon"; coordinates:
    Array<Array<Array<number>>> } | { type: "MultiPolygon"; coordinates: Array<Array<Array<Array<number>>>> }); properties: { radius?: number } };
  type RegionCollection = { type: "FeatureCollection"; features: Array<RegionFeature> };
  type RegionDocument = (RegionCollection | RegionFeature);
  type RegionStatus = { region: string; state: string; since?: string };
  type VehicleRegions = { fleet: string; vehicle: string; request?: string; state: string; problem?: string; wanted: FeatureCollection; accepted:
    Array<string>; rejected: Array<{ region: string; reason: string }>; states: Array<RegionStatus>; source?: string; watched?: number };
  type SharedRegion = { region: string; feature: Feature; vehicles: Array<{ fleet: string; vehicle: string; accepted: boolean; reason?: string; state?:
    string; since?: string }> };
  type Accepted = { request: string; vehicles: Array<{ fleet: string; vehicle: string; state: "sent" | "unsent" | "refused" | "unmanaged" | "unchanged";
    problem?: string }> };
  type SettingKey = { key: string; type: "string" | "strings" | "boolean" | "integer" | "number"; choices?: Array<string>; minimum?: number; maximum?:
    number; unit?: string; default?: any; usual: boolean };
  type RefusedSetting = { key: string; reason: string };
  type SettingsChange = { settings: Record<string, any>; label?: string };
  type VehicleSettings = { fleet: string; vehicle: string; request?: string; state: string; answers?: string; problem?: string; wanted: Record<string, any>;
    reported: Record<string, any>; refused: Array<RefusedSetting>; differences: Array<{ key: string; wanted?: any; inForce?: any }> };
  type Command = { name: string; summary: string; confirmation?: string; arguments: Array<{ name: string; summary: string; required: boolean; type: "number"
    | "string" | "boolean"; format?: string; unit?: string; minimum?: number; maximum?: number; minimumBytes?: number; maximumBytes?: number }>;
    requiresOne?: Array<string> };
  type Answers = { answers: Array<{ request: string; fleet: string; vehicle: string; command: string; arguments: Record<string, any>; by: string; asked:
    string; state: "sending" | "waiting" | "done" | "refused" | "failed" | "silent"; problem?: string; result?: any; answered?: string; expires?: string }>
    };
  type Map = { tiles?: { url: string; attribution?: string; name?: string; minimumZoom: number; maximumZoom: number; bounds?: Array<number> } };
  type Summary = { fleet: string; vehicle: string; revision: number; state: "online" | "asleep" | "offline" | "unknown"; heard?: string; overdue?: boolean;
    position?: { latitude: number; longitude: number; time?: string; accuracy?: number; altitude?: number; speed?: number; course?: number; source?: string;
    suspect?: string; stale?: boolean; received?: string; now?: PredictedPosition }; heading?: number; prediction?: Prediction; battery?: Record<string,
    any>; queue?: number; missing?: number; gap?: boolean; clockLead?: number; clockLag?: number; inside?: Array<string>; event?: Record<string, any>;
    trip?: Record<string, any> };
  type PredictedPosition = { time: string; latitude: number; longitude: number; radius?: number; expired?: boolean };
  type Promise = { velocityEast: number; velocityNorth: number; bound: number; validity?: number; growth?: number };
  type Prediction = (Promise & { delay: number; before?: Array<(Promise & { time: string; latitude: number; longitude: number; accuracy?: number })> });
  type Details = (Summary & { overdueAt?: string; status?: Record<string, any>; regions?: FeatureCollection; trail?: Array<Array<number>>; recentEvents?:
    Array<Record<string, any>> });
  type Track = { from?: string; to?: string; count?: number; points?: number; tolerance?: number; gaps?: Array<number>; time: Array<(number | string |
    null)>; latitude: Array<(number | string | null)>; longitude: Array<(number | string | null)>; altitude?: Array<(number | string | null)>; speed?:
    Array<(number | string | null)>; course?: Array<(number | string | null)>; accuracy?: Array<(number | string | null)>; source?: Array<(number | string |
    null)> };
  type Session = { name: string; role: "view" | "operate"; scope: { fleets?: Array<string>; vehicles?: Array<string> }; csrf?: string; login: boolean;
    link?: boolean; expires?: string };
  type Alert = { id: (string | number); rule: string; fleet: string; vehicle: string; severity?: string; summary?: string; remedy?: string; began: string;
    ended?: string; noticed?: string; reason?: "forgotten" | "rule" | "operator"; place?: any; silenced?: string; value?: any };
  type Rule = { name: string; when: string; above?: number; below?: number; until?: number; severity: "info" | "warning" | "critical"; for?: number; quiet?:
    string; receivers?: Array<string> };
  type Share = { id: string; fleet: string; vehicle: string; by: string; began: string; expires: string };
}
