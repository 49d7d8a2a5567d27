import { resolve } from "node:path";
import { nextSteps } from "../../account/next-steps.ts";
import { importBundle } from "../../store/moving-runs.ts";
import type { Command } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { counted } from "../screen/format.ts";
import { commandSteps, formatNextSteps } from "../screen/next-steps.ts";

export const importCommand: Command = {
  name: "import",
  summary: "Take over a run from a file that `pawl export --bundle` has made",
  arguments: [{ name: "file", summary: "the bundle" }],
  options: [],
  example: "pawl import q-1.bundle --store postgres://ann@db/app",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const file = resolve(context.cwd, input.argument("file"));
      const { isNew, run, from, events, blobs } = await importBundle(store, file);
      const { runId, status, moved } = run;
      const what = `${counted(events, "event")} and ${counted(blobs, "blob")}, verified`;
      const text = isNew
        ? `Run ${runId} is in this store now, with the status ${status}: ${what}. The store ${from} has only its record.`
        : `Run ${runId} was imported before, and nothing was changed: ${moved === null ? `it is here, with the status ${status}` : `it has been moved to the store ${moved.to} since`}.`;
      const now = context.clock.now();
      const next = isNew ? commandSteps(input, nextSteps(run, await store.listWaits(runId), [], now)) : [];
      const hint = isNew ? [] : [{ what: "See it", commands: [commandHint(input, "show", runId)] }];
      return {
        exitCode: 0,
        document: { runId, status, isNew, from, movedTo: moved?.to ?? null, events, blobs },
        text: `${paragraph(text, context.stdout.columns)}${formatNextSteps(context, [...next, ...hint])}`,
      };
    }),
};
