import { ownProperty } from "../core/own-property.ts";

/** How an error is answered: its status, and a title that reads well alone. */
export type ProblemKind = { readonly status: number; readonly title: string };

/**
 * The answer to each error of Pawl, by its code. Errors of the engine reach a client only as the stored end of a run, or
 * from a forecast: what they say is about the run, and not about the request, so they are 409 or 422.
 */
export const ERROR_PROBLEMS = {
  not_json: { status: 422, title: "The value is not JSON that can be stored." },
  configuration: { status: 422, title: "The request does not fit what it asks for." },
  resume: { status: 409, title: "The run does not fit the code that would resume it." },
  quota_exceeded: { status: 409, title: "The budget of the run is used up." },
  max_turns_exceeded: { status: 409, title: "The agent has reached its limit of turns." },
  answer_cut_off: { status: 409, title: "The answer of the model was cut off." },
  schema_misfit: { status: 409, title: "The answers of the model do not fit their schema." },
  max_iterations_exceeded: { status: 409, title: "The loop has reached its limit of iterations." },
  deadline_exceeded: { status: 409, title: "The run has reached its deadline." },
  budget_exceeded: { status: 409, title: "A budget of the run is used up." },
  unmet_conditions: { status: 409, title: "Conditions of the run are not met." },
  workspace: { status: 422, title: "The file name leaves the workspace of the run." },
  slice_value: { status: 422, title: "A value does not fit its slice of the session." },
  snapshot_restore: { status: 409, title: "The snapshot cannot be restored." },
  checkpoint_store: { status: 500, title: "The files of the worker cannot be used." },
  worker_busy: { status: 409, title: "Another process works under the same name." },
  blob_missing: { status: 410, title: "The bytes were deleted." },
  store_unavailable: { status: 503, title: "The store does not answer." },
  store_unusable: { status: 500, title: "The store cannot be used." },
  run_not_found: { status: 404, title: "There is no such run." },
  run_deleted: { status: 410, title: "The run was deleted." },
  message_refused: { status: 409, title: "The message was not accepted." },
  run_moved: { status: 409, title: "The run was moved to another store." },
  bundle_refused: { status: 422, title: "The bundle was not imported." },
  run_busy: { status: 409, title: "A worker holds the run." },
  run_not_begun: { status: 409, title: "The run was not started." },
  lease_lost: { status: 409, title: "Another worker has taken the run." },
  person_needed: { status: 409, title: "The run waits for a person." },
  wait_not_found: { status: 404, title: "There is no such wait." },
  tool_call_not_found: { status: 404, title: "There is no such tool call." },
  already_settled: { status: 409, title: "It is decided already." },
  not_applied: { status: 409, title: "A tool reported that nothing happened." },
  final_failure: { status: 409, title: "A tool failed for good." },
  needs_human: { status: 409, title: "A tool needs a person." },
  needs_wait: { status: 409, title: "A tool waits." },
  tool_failed: { status: 409, title: "A tool failed." },
  model_call: { status: 409, title: "The request to the model failed." },
  step_failed: { status: 409, title: "A step of the run failed." },
  paused: { status: 409, title: "The run was paused." },
  pipeline_abort: { status: 409, title: "The run was ended by its own code." },
  infinite_redirect: { status: 409, title: "Steps of the run redirect to each other." },
  forecast_end: { status: 409, title: "The forecast ends here." },
  network_refused: { status: 409, title: "A tool may not reach that address." },
  mirrored_run: { status: 409, title: "The mirrored run has not succeeded." },
  export: { status: 409, title: "The run cannot be exported." },
} as const satisfies { readonly [code: string]: ProblemKind };

/** How the error of this code is answered; undefined for a code that is not Pawl's. */
export function problemKind(code: string): ProblemKind | undefined {
  return ownProperty<ProblemKind>(ERROR_PROBLEMS, code);
}

export function statusOfError(code: string): number {
  return problemKind(code)?.status ?? 500;
}
