import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import { type CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import { readMails } from "./harness/mail-log.ts";
import { type ConnectionEnd, mailServer } from "./harness/mail-server.ts";
import type { Act, CrashSite, MailingVariant, PersonAnswers, Variant } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "mail", runId: "mailing-1" };
const RESUME: Act = { do: "resume", runId: "mailing-1" };
const scenario = "mailing";

async function mailFolder(
  end: ConnectionEnd,
  mailing: Omit<MailingVariant, "port">,
): Promise<{ readonly folder: CrashFolder; readonly variant: Variant }> {
  const folder = crashFolder();
  const { port } = await mailServer(folder.path, [end]);
  return { folder, variant: { mailing: { ...mailing, port } } };
}

function answer(answers: PersonAnswers): Act {
  return { do: "answer", runId: "mailing-1", answers };
}

function texts(folder: CrashFolder): string[] {
  return readMails(folder.path).map(({ text }) => text);
}

function callsOf(folder: CrashFolder) {
  return folder.withStore((store) => store.listToolCalls("mailing-1"));
}

describe("a mail that is accepted before the connection is reset", () => {
  const requestedAgain: readonly { when: string; crash: CrashSite | null }[] = [
    { when: "in the same process", crash: null },
    { when: "after a kill between the two", crash: { point: "turn:committed", turn: 1 } },
    { when: "after a kill when it is requested again", crash: { point: "turn:journaled", turn: 2 } },
    { when: "after a kill when a person must be asked", crash: { point: "run:before-wait" } },
  ];

  test.for(sampled(requestedAgain))(
    "is not sent again automatically: the same mail needs a person ($when)",
    async ({ crash }) => {
      const { folder, variant } = await mailFolder("reset-after-accepting", {
        recovery: "opaque",
        insists: true,
      });
      if (crash !== null) await folder.killed({ scenario, act: RUN, variant, crash });
      const asking = await folder.result({ scenario, act: crash === null ? RUN : RESUME, variant });
      expect(asking.status).toBe("waiting");
      expect(asking.waits).toMatchObject([
        {
          kind: "possible_duplicate",
          toolCallId: "mailing-1/mailing#2.1",
          subject: {
            arguments: { subject: "Results", body: "Not one test has failed." },
            earlier: "mailing-1/mailing#1.1",
          },
        },
      ]);
      expect(asking.waits[0]?.question).toContain("may have happened anyway");
      const [first, second] = await callsOf(folder);
      expect(first).toMatchObject({
        status: "failed",
        attempt: 1,
        receipt: { uncertain: true, source: "tool" },
      });
      expect(first?.receipt?.output.value).toContain("ECONNRESET");
      expect(second).toMatchObject({ status: "prepared", attempt: 0, receipt: null });
      // The accepted mail carries the call's key, which distinguishes it from any other.
      expect(readMails(folder.path)).toEqual([
        { messageId: first?.idempotencyKey, to: "maria@example.com", text: "All tests pass." },
      ]);
      expect(first?.receipt?.correlationId).toBe(first?.idempotencyKey);
    },
  );

  test("is sent again only if a person approves it", async () => {
    const { folder, variant } = await mailFolder("reset-after-accepting", {
      recovery: "opaque",
      insists: true,
    });
    await folder.result({ scenario, act: RUN, variant });
    const copy = folder.copy();
    const deny = answer({ approval: { deny: "Maria has it." } });
    const denied = await copy.result({ scenario, act: deny, variant });
    expect(denied.status).toBe("succeeded");
    expect(denied.output).toContain("A person denied send_email: Maria has it.");
    expect(texts(copy)).toEqual(["All tests pass."]);
    expect((await callsOf(copy))[1]).toMatchObject({ status: "cancelled", attempt: 0 });

    const approved = await folder.result({ scenario, act: answer({ approval: "approve" }), variant });
    expect(approved).toMatchObject({ status: "succeeded", waits: [] });
    expect(texts(folder)).toEqual(["All tests pass.", "Not one test has failed."]);
    const [first, second] = readMails(folder.path);
    expect(second?.messageId).not.toBe(first?.messageId);
  });

  const lookedUp: readonly { when: string; crash: CrashSite | null }[] = [
    { when: "in the same process", crash: null },
    { when: "after a kill when it was accepted", crash: { point: "tool:executed" } },
    { when: "after a kill when it is in doubt", crash: { point: "tool:try-ended" } },
    { when: "after a kill when it was found", crash: { point: "tool:reconciled" } },
    {
      when: "after a kill right before the commit of its turn",
      crash: { point: "turn:before-commit", turn: 1 },
    },
  ];

  test.for(sampled(lookedUp))(
    "is found in the server's log by its id and adopted ($when)",
    async ({ crash }) => {
      const { folder, variant } = await mailFolder("reset-after-accepting", { recovery: "reconcile" });
      if (crash !== null) await folder.killed({ scenario, act: RUN, variant, crash });
      const result = await folder.result({ scenario, act: crash === null ? RUN : RESUME, variant });
      expect(result).toMatchObject({
        status: "succeeded",
        output: "Done: found in the log: All tests pass..",
        waits: [],
      });
      expect(folder.tries("send_email")).toBe(1);
      const [call, ...others] = await callsOf(folder);
      expect(others).toEqual([]);
      expect(readMails(folder.path).map(({ messageId }) => messageId)).toEqual([call?.idempotencyKey]);
      expect(call).toMatchObject({
        status: "succeeded",
        attempt: 1,
        receipt: { source: "reconciled", correlationId: call?.idempotencyKey, uncertain: false },
      });
      const tries = await folder.withStore((store) => store.listToolCallAttempts("mailing-1"));
      expect(tries.map(({ attempt }) => attempt)).toEqual([1]);
    },
  );

  test("that was found is not sent again when the model requests it in other words", async () => {
    const { folder, variant } = await mailFolder("reset-after-accepting", {
      recovery: "reconcile",
      insists: true,
    });
    const result = await folder.result({ scenario, act: RUN, variant });
    expect(result.status).toBe("succeeded");
    expect(texts(folder)).toEqual(["All tests pass."]);
    expect((await callsOf(folder)).map(({ status }) => status)).toEqual(["succeeded", "deduplicated"]);
  });
});

test("a mail that is not accepted before the connection is reset is looked up and then sent", async () => {
  const { folder, variant } = await mailFolder("reset-before-accepting", { recovery: "reconcile" });
  const result = await folder.result({ scenario, act: RUN, variant });
  expect(result).toMatchObject({ status: "succeeded", output: "Done: 250 accepted." });
  expect(texts(folder)).toEqual(["All tests pass."]);
  expect(folder.lines("tried").map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(await callsOf(folder)).toMatchObject([{ attempt: 2, receipt: { source: "tool" } }]);
});
