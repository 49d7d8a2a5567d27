/**
 * Something that a person can do about a run. The command line shows it as a command, a page as a button, so it has the
 * ids that either needs and no words.
 */
export type Act =
  /** `argumentsHash` is of the arguments that the person was shown: what is approved is what runs. */
  | { readonly act: "approve"; readonly waitId: string; readonly argumentsHash: string | null }
  | { readonly act: "deny"; readonly waitId: string }
  /** `suggested` is an answer that would be accepted; null if only the person knows one. */
  | { readonly act: "answer"; readonly waitId: string; readonly suggested: string | null }
  /** `callId` is the call; the wait itself if its call was removed with a dropped turn. */
  | { readonly act: "settle"; readonly callId: string; readonly as: "succeeded" | "failed" | "retry" }
  /** `notBefore`, in ISO 8601: earlier, the run would only wait again. */
  | { readonly act: "resume"; readonly runId: string; readonly notBefore: string | null }
  | { readonly act: "cancel"; readonly runId: string }
  | { readonly act: "follow"; readonly runId: string }
  /** `event` is the name of the event that is waited for; null for a text. */
  | { readonly act: "send"; readonly runId: string; readonly event: string | null }
  | { readonly act: "chat"; readonly runId: string }
  | { readonly act: "list_waits"; readonly runId: string }
  | { readonly act: "export_bundle"; readonly runId: string; readonly to: string };
