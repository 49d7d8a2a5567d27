import { describe, expect, test } from "vitest";
import { callsInProgress, recoverySteps, whereKilled } from "../../src/demo/story.ts";
import { CRASH_POINTS } from "../../src/engine/ports/crash-points.ts";
import { asked, at, ended, entered, finished, life, lookedUp, skipped, started, turn } from "./lives.ts";

describe("where a process was killed", () => {
  test("has a different text for every crash point", () => {
    const texts = CRASH_POINTS.map((point) => whereKilled(at("plan", point)));
    expect(new Set(texts).size).toBe(CRASH_POINTS.length);
    expect(whereKilled(at("plan", "turn:journaled", 3))).toBe(
      "in turn 3: the model's answer was stored, none of its calls had run yet",
    );
  });

  test("names the service and its effect", () => {
    expect(whereKilled({ kind: "outside", phase: "upload", effect: "upload", what: "report.pdf" })).toBe(
      "inside the upload service: report.pdf was stored, the answer had not left yet",
    );
  });
});

test("the calls in progress are those that had started but not ended", () => {
  const messages = [
    started("crawl#1.1", "fetch_page", "http://127.0.0.1:80/a"),
    started("crawl#1.2", "fetch_page", "http://127.0.0.1:80/b"),
    started("upload#0.1", "upload_file", "report.pdf"),
    ended("crawl#1.1", "fetch_page"),
  ];
  expect(callsInProgress(life(messages))).toEqual(["fetch_page /b", "upload_file report.pdf"]);
});

describe("what the next process did", () => {
  const page = (name: string) => `http://127.0.0.1:80/${name}`;

  test("is nothing if the phase was finished", () => {
    const before = [life([asked("plan", 1), finished("plan")])];
    expect(recoverySteps(before, "plan", life([skipped("plan"), asked("crawl", 1)]))).toEqual([
      "finds plan finished and does not enter it again",
    ]);
  });

  test("is to use the journal, and to repeat only the interrupted calls", () => {
    const before = [
      life([
        asked("crawl", 2),
        started("crawl#2.1", "fetch_page", page("a")),
        started("crawl#2.2", "fetch_page", page("b")),
        ended("crawl#2.1", "fetch_page"),
      ]),
    ];
    const next = life([
      turn("crawl", 2, true),
      started("crawl#2.2", "fetch_page", page("b"), 2),
      ended("crawl#2.2", "fetch_page", 2),
      finished("crawl"),
      started("upload#0.1", "upload_file", "report.pdf", 2),
    ]);
    expect(recoverySteps(before, "crawl", next)).toEqual([
      "takes the answer to turn 2 from the journal; the model is not asked again",
      "runs fetch_page /b again, which is harmless (repeat)",
      "uses 1 receipt of the process before it",
    ]);
  });

  test("is to run a call that was marked as running but never sent, which is not a repetition", () => {
    const next = life([turn("plan", 1, true), started("plan#1.1", "fetch_page", page("a"), 2)]);
    expect(recoverySteps([life([asked("plan", 1)])], "plan", next)).toEqual([
      "takes the answer to turn 1 from the journal; the model is not asked again",
      "runs fetch_page /a, which had not been sent",
    ]);
  });

  test("is to ask the model again if its answer was lost, and to report it", () => {
    const next = life([turn("plan", 1), asked("plan", 1), finished("plan")]);
    expect(recoverySteps([life([asked("plan", 1)])], "plan", next)).toEqual([
      "asks the model for turn 1 again, since its answer was lost",
    ]);
    expect(
      recoverySteps([life([asked("plan", 1)])], "plan", life([turn("plan", 2), asked("plan", 2)])),
    ).toEqual(["continues with turn 2; committed turns are not repeated"]);
    expect(recoverySteps([life([asked("plan", 1)])], "plan", life([finished("plan")]))).toEqual([
      "finds every turn committed; the model is not asked again",
    ]);
  });

  test("is to look up a mail, and to send it only if it is not there", () => {
    const before = [life([entered("send"), started("send#0.1", "send_email", "mail")])];
    expect(recoverySteps(before, "send", life([lookedUp("send#0.1", "send_email", "done")]))).toEqual([
      "looks send_email up (reconcile): it is there, so nothing is sent",
    ]);
    const sent = life([
      lookedUp("send#0.1", "send_email", "absent"),
      started("send#0.1", "send_email", "mail", 2),
    ]);
    expect(recoverySteps(before, "send", sent)).toEqual([
      "looks send_email up (reconcile): it is not there, so it is sent",
    ]);
  });

  test("is to send with the same key, to use a receipt, to render again, or to start", () => {
    const uploading = [life([entered("upload"), started("upload#0.1", "upload_file", "report.pdf")])];
    const again = life([entered("upload"), started("upload#0.1", "upload_file", "report.pdf", 2)]);
    expect(recoverySteps(uploading, "upload", again)).toEqual([
      "sends upload_file report.pdf again with the same key (keyed)",
    ]);
    const notified = [life([entered("notify"), ended("notify#0.1", "send_notification")])];
    expect(recoverySteps(notified, "notify", life([entered("notify")]))).toEqual([
      "finds the receipts and sends nothing again",
    ]);
    expect(recoverySteps([life([entered("render")])], "render", life([entered("render")]))).toEqual([
      "renders again, to the same bytes: each file is stored once",
    ]);
    expect(recoverySteps([life([])], "render", life([entered("render")]))).toEqual([
      "starts the phase; nothing of it had been sent",
    ]);
  });
});
