// Schedules, and what becomes of their planned times.

import type { Mutant } from "./mutant.ts";

export const SCHEDULE_MUTANTS: readonly Mutant[] = [
  {
    what: "a schedule moves on before the run of the planned time is stored",
    patches: [
      {
        file: "store/sql/sql-queue.ts",
        right: '    return this.act("fireSchedule", null, (tx) => firings.fireSchedule(tx, name));\n',
        wrong: `    const later: Parameters<Transaction["write"]>[0][] = [];
    const isFirst = (each: Parameters<Transaction["write"]>[0]) =>
      each.kind === "upsert" && each.table === "schedules";
    const fired = await this.act("fireSchedule", null, (tx) =>
      firings.fireSchedule(
        { ...tx, write: (each) => (isFirst(each) ? tx.write(each) : void later.push(each)) },
        name,
      ),
    );
    setTimeout(
      () =>
        void this.act("fireSchedule", null, function* (tx) {
          for (const each of later) tx.write(each);
        }).catch(() => undefined),
      2,
    );
    return fired;
`,
      },
    ],
    breaks: "skips-are-told",
    scenario: "schedule-fires",
    schedule: "crash after store.fireSchedule 1",
    sqliteOnly: "On PostgreSQL the rows of a transaction are planned with those that it writes itself.",
  },
  {
    what: "a schedule that skips does not look at the runs before",
    patches: [
      {
        file: "store/sql/intents/schedule-intents.ts",
        right: 'if (overlap === "allow" || overlap === "queue") return [];',
        wrong: 'if (overlap !== "cancel") return [];',
      },
    ],
    breaks: "overlap-held",
    scenario: "schedule-fires",
    schedule: "crash after store.fireSchedule 1",
  },
  {
    what: "a planned time that is skipped is not recorded",
    patches: [
      {
        file: "store/sql/intents/schedule-intents.ts",
        right: `      saveFiring(this.#tx, firing);
      return firing;
    }
    const left`,
        wrong: `      return firing;
    }
    const left`,
      },
    ],
    breaks: "skips-are-told",
    scenario: "schedule-fires",
    schedule: "crash after store.fireSchedule 1",
  },
];
