import type { AuditRange, AuditRecord, AuditVerification } from "../../../store/store.ts";
import type { CliContext } from "../../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../../context/command.ts";
import { ageOption } from "../../context/duration-argument.ts";
import { paragraph } from "../../context/terminal-text.ts";
import { WrongUseError } from "../../context/wrong-use-error.ts";
import { withExistingStore } from "../../run/command-store.ts";
import { counted, formatTime } from "../../screen/format.ts";
import { type Column, formatTable } from "../../screen/table.ts";

const SHOWN = 50;

const FILTERS = ["who", "act", "target", "since", "after", "limit"] as const;

export const audit: Command = {
  name: "audit",
  summary: "Show what people did and read through a server of this store, the newest first",
  arguments: [],
  options: [
    { flags: "--who <name>", summary: "only of this person" },
    { flags: "--act <operation>", summary: "only this operation: runs.cancel" },
    { flags: "--target <id>", summary: "only about this run, wait or token" },
    { flags: "--since <age>", summary: "only since then: 7d, 12h, 45m" },
    { flags: "--limit <n>", summary: `the number of entries (default: ${SHOWN})` },
    { flags: "--after <number>", summary: "the next page, behind the last number of a page" },
    { flags: "--verify", summary: "check that no entry was changed or removed" },
  ],
  example: "pawl audit --who ana --since 7d",
  execute: async (context, input) => {
    const stray = FILTERS.find((name) => input.text(name) !== null);
    if (input.flag("verify") && stray !== undefined)
      throw new WrongUseError(`--verify reads the whole log: leave --${stray} out.`);
    return withExistingStore(
      context,
      input,
      async (store) =>
        input.flag("verify")
          ? verified(context, await store.verifyAudit())
          : list(context, await store.listAudit(rangeOf(context, input))),
      { readOnly: true },
    );
  },
};

function rangeOf({ clock }: CliContext, input: CommandInput): AuditRange {
  const [who, act, target, since] = ["who", "act", "target", "since"].map(
    (name) => input.text(name) ?? undefined,
  );
  const after = input.wholeNumber("after", 1);
  return {
    limit: input.wholeNumber("limit", 1) ?? SHOWN,
    ...(after === null ? {} : { after }),
    ...(who === undefined ? {} : { who }),
    ...(act === undefined ? {} : { act }),
    ...(target === undefined ? {} : { target }),
    ...(since === undefined ? {} : { since: clock.now() - ageOption("--since", since) }),
  };
}

function list(context: CliContext, entries: readonly AuditRecord[]): CommandResult {
  const none = "Nothing was recorded that matches.";
  return {
    exitCode: 0,
    document: { entries },
    text:
      entries.length === 0 ? paragraph(none, context.stdout.columns) : formatTable(context, COLUMNS, entries),
  };
}

const COLUMNS: readonly Column<AuditRecord>[] = [
  { title: "no", value: ({ no }) => String(no), rank: 4 },
  { title: "at", value: ({ at }) => formatTime(at), rank: 0 },
  { title: "who", value: ({ who }) => who.name, rank: 0 },
  { title: "role", value: ({ who }) => who.role ?? "", rank: 5 },
  { title: "act", value: ({ act }) => act, rank: 0 },
  { title: "target", value: ({ target }) => target ?? "", rank: 1, atLeast: 12 },
  {
    title: "outcome",
    value: ({ status, problem }) => (problem === null ? String(status) : `${status} ${problem}`),
    rank: 2,
  },
];

function verified(context: CliContext, { entries, last, problem }: AuditVerification): CommandResult {
  const end =
    last === null
      ? ""
      : ` The last one is ${last.no}, with the hash ${last.hash}: keep it elsewhere, and compare.`;
  const text =
    problem === null
      ? `The audit log has ${counted(entries, "entry", "entries")}, and none was changed or removed.${end}`
      : `The audit log is not what was written: entry ${problem.no} ${problem.what}. Find out who changed the database.`;
  return {
    exitCode: problem === null ? 0 : 1,
    document: { entries, last, problem },
    text: paragraph(text, context.stdout.columns),
  };
}
