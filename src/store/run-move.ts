/** The status of a run in the store where it lives. A run whose worker died is `running` until another claims it. */
export type OwnStatus = "queued" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";

/** The status of a run; `moved` if it continues in another store. */
export type RunStatus = OwnStatus | "moved";

/** From which store a run was moved to which, by their ids, and the status that it has there. */
export type RunMove = { readonly from: string; readonly to: string; readonly status: OwnStatus };
