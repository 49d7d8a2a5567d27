// The report of an exploration: the broken promise, its shortest schedule, what the outside saw, and how to fix it.

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { agent, Pipeline, Step, tool } from "../../../src/index.ts";
import {
  type CrashExplorerOptions,
  crashExplorer,
  parseSchedule,
  type Schedule,
} from "../../../src/testing/crash/index.ts";
import { scriptedPort } from "../scripted-port.ts";
import { EXPLORER_FOLDER } from "./explored-scenario.ts";

type MailTool = Pick<Parameters<typeof tool>[0], "recovery" | "effect" | "reconcile">;

/** An agent that sends one mail, and then looks until it has had this many turns with a call. */
function mailer(parts: MailTool, mails = 1) {
  const sendEmail = tool({
    description: "Send one email.",
    inputSchema: z.object({ to: z.string() }),
    effect: "external",
    execute: ({ to }) => `sent to ${to}`,
    ...parts,
  });
  const look = tool({
    description: "Look.",
    inputSchema: z.object({}),
    effect: "read_only",
    execute: () => "seen",
  });
  const model = scriptedPort(({ turn }) => {
    if (turn === 1) return { toolCalls: [{ name: "send_email", input: { to: "ann" } }] };
    return turn <= mails ? { toolCalls: [{ name: "look", input: {} }] } : { text: "Done." };
  });
  return agent({ name: "mailer", model, tools: { send_email: sendEmail, look } });
}

const AFTER_MAIL = parseSchedule("crash after tool.send_email 1");

async function explored(
  pipeline: CrashExplorerOptions["pipeline"],
  schedule: Schedule,
  more: Partial<CrashExplorerOptions> = {},
) {
  const report = await crashExplorer({ pipeline, input: "Ann", schedule, ...EXPLORER_FOLDER, ...more });
  return { report, lines: report.toString().split("\n") };
}

/** Keys are random to a reader. */
function withoutKeys(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.replace(/key [0-9a-f]{8}/, "key …"));
}

describe("a broken promise", () => {
  test("is reported with its schedule, what the outside saw, and how to fix the tool", async () => {
    const { report, lines } = await explored(mailer({ recovery: "repeat" }), AFTER_MAIL);
    expect(lines[0]).toBe("28 points, 2 schedules (1 undisturbed, 1 crash): 1 promise BROKEN");
    expect(lines[1]).toMatch(/^points: store\.createRun 2, .*tool\.send_email 2/);
    expect(lines[2]).toMatch(/^never ran: look\. /);
    expect(lines[4]).toBe("✗ effects-at-most-once, broken in 1 schedule");
    const shown = withoutKeys(lines.slice(lines.indexOf("  shortest schedule:")));
    expect(shown.slice(0, -1)).toEqual([
      "  shortest schedule:",
      "    crash after tool.send_email 1",
      "  what the outside saw:",
      "    process 1  the model answers turn 1 of mailer",
      "    process 1  runs send_email (key …): it happens",
      "    process 1  DIES after tool.send_email 1",
      "    process 2  runs send_email (key …) again: IT HAPPENS A SECOND TIME",
      "    process 2  the model answers turn 2 of mailer",
      "    process 2  ends: succeeded",
      "  how to fix it:",
    ]);
    expect(shown.at(-1)).toContain('Set recovery: "keyed" and pass call.idempotencyKey on');
    expect(() => report.assertKept()).toThrow(report.toString());
  });

  test("by a reconcile that misses an effect is blamed on the reconcile", async () => {
    const overlooking = mailer({ recovery: "reconcile", reconcile: () => ({ status: "absent" }) });
    const { lines } = await explored(overlooking, AFTER_MAIL);
    expect(withoutKeys(lines)).toContain("    process 2  looks up send_email (key …): not found");
    expect(lines.join("\n")).toContain('its reconcile returned "absent" for a call that had happened');
  });

  test("by a paused process shows when it was stopped, and when it woke", async () => {
    const paused = parseSchedule("pause after tool.send_email 1; wake at the end");
    const { lines } = await explored(mailer({ recovery: "repeat" }), paused);
    const timeline = withoutKeys(lines.slice(lines.indexOf("  what the outside saw:") + 1));
    expect(timeline.slice(0, 6)).toEqual([
      "    process 1  the model answers turn 1 of mailer",
      "    process 1  runs send_email (key …): it happens",
      "    process 1  is stopped after tool.send_email 1, for longer than its lease",
      "    process 2  runs send_email (key …) again: IT HAPPENS A SECOND TIME",
      "    process 2  the model answers turn 2 of mailer",
      "    process 2  ends: succeeded",
    ]);
    expect(timeline[6]).toBe("    process 1  wakes: process 2 has ended");
  });

  test("in a long run is shown with the lines of its tool alone", async () => {
    const { lines } = await explored(mailer({ recovery: "repeat" }, 12), AFTER_MAIL);
    const timeline = withoutKeys(lines.slice(lines.indexOf("  what the outside saw:") + 1));
    expect(timeline.slice(0, 6)).toEqual([
      "    … 1 more",
      "    process 1  runs send_email (key …): it happens",
      "    process 1  DIES after tool.send_email 1",
      "    process 2  runs send_email (key …) again: IT HAPPENS A SECOND TIME",
      "    … 23 more",
      "    process 2  ends: succeeded",
    ]);
  });

  test("of a user's own invariant points to what the code of a step does outside of ctx.call", async () => {
    const done: string[] = [];
    const pipeline = Pipeline.of(
      "careless",
      Step.run("ring", () => void done.push("rang")),
    );
    const { lines } = await explored(pipeline, parseSchedule("crash before store.finishStep 1"), {
      invariants: { "rings-once": () => (done.length > 2 ? "The bell rang twice." : null) },
    });
    expect(lines).toContain("✗ rings-once, broken in 1 schedule");
    expect(lines).toContain("  Your own invariant.");
    expect(lines.at(-1)).toContain("The code of a step (ring) starts over after an interruption");
  });

  test("is in the JSON report with the same words", async () => {
    const { report, lines } = await explored(mailer({ recovery: "repeat" }), AFTER_MAIL);
    const document: unknown = JSON.parse(JSON.stringify(report));
    expect(document).toMatchObject({
      pipeline: "mailer",
      kept: false,
      points: 28,
      pointsByCall: { "tool.send_email": 2 },
      violations: [
        {
          invariant: "effects-at-most-once",
          times: 1,
          schedule: "crash after tool.send_email 1",
          problems: [{ tool: "send_email" }],
          advice: [lines.at(-1)?.trim()],
        },
      ],
    });
  });
});

describe("not a violation", () => {
  test("is a call that a person was asked about: the report names the line that lets it recover automatically", async () => {
    const { report, lines } = await explored(mailer({}), AFTER_MAIL);
    expect(report.violations).toEqual([]);
    expect(() => report.assertKept()).not.toThrow();
    expect(lines.at(-1)).toBe(
      '  send_email (asked in 1 schedule): recovery: "keyed" (pass on call.idempotencyKey), "reconcile" (look it up) or "repeat" (twice is harmless)',
    );
    expect(report.toJSON().askedAbout).toMatchObject([{ tool: "send_email", schedules: 1 }]);
  });

  test("is a run that fails undisturbed, and the report says so", async () => {
    const failing = Pipeline.of(
      "failing",
      Step.run("press", () => {
        throw new Error("The press is broken.");
      }),
    );
    const { lines } = await explored(failing, parseSchedule("undisturbed"));
    expect(lines[2]).toMatch(/^Undisturbed, the run ended as: failed \(.*The press is broken\./);
  });
});
