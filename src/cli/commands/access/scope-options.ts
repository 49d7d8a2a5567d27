import { type AccessScope, readScope } from "../../../core/access/scope.ts";
import { decisionOf } from "../../../core/person.ts";
import type { AuditEntry, Store } from "../../../store/store.ts";
import type { CliContext } from "../../context/cli-context.ts";
import type { CommandInput, CommandOption } from "../../context/command.ts";
import { labelOption } from "../../context/label-argument.ts";
import { personOf } from "../../screen/acting-person.ts";

// What the commands that give others access have in common: for which runs, and that it is on record.

export const SCOPE_OPTIONS: readonly CommandOption[] = [
  { flags: "--pipeline <name>", summary: "only for runs of this pipeline", isRepeatable: true },
  {
    flags: "--where <name=value>",
    summary: "only for runs with this in their metadata: tenant=acme",
    isRepeatable: true,
  },
];

export function scopeOf(input: CommandInput): AccessScope {
  const [pipelines, where] = [input.list("pipeline"), input.list("where")];
  return readScope({
    pipelines: pipelines.length === 0 ? null : pipelines,
    labels: where.length === 0 ? null : Object.fromEntries(where.map((text) => labelOption("--where", text))),
  });
}

/** The command line gives access to a server: that is in its log, like what is done through it. */
export async function note(
  context: CliContext,
  input: CommandInput,
  store: Store,
  done: Pick<AuditEntry, "act" | "target" | "problem">,
): Promise<void> {
  const { name } = decisionOf(personOf(context, input), 0);
  const who = { name, id: null, role: null };
  const status = done.problem === null ? 200 : 404;
  await store.recordAudit([{ ...done, who, status, requestId: null }]);
}
