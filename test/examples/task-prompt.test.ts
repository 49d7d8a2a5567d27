import { describe, expect, it } from "vitest";
import { analysisResults } from "../../examples/milestones/analysis.ts";
import { taskPrompt } from "../../examples/milestones/task-prompt.ts";
import { setupPlan, updateStep } from "../../src/session/plan.ts";
import { Session } from "../../src/session/session.ts";
import { Snapshot } from "../../src/session/snapshot.ts";

const input = { objective: "Write the report" };

function newSession(): Session {
  return new Session({ id: "s", createdAt: 0, slices: taskPrompt.slices });
}

describe("the recovery-aware prompt", () => {
  it("shows no progress at a fresh start", () => {
    const text = taskPrompt.render(newSession(), input);
    expect(text).toMatch(
      /^## Objective\n\nWrite the report\n\n## Progress\n\nNo progress yet\. Create a plan/,
    );
    expect(text).toContain("## Planning\n\n");
    expect(text).toContain("### Planning Requirement");
  });

  it("shows after a crash with two of four steps done two ✓ and two remaining", () => {
    const session = newSession();
    session.dispatch(setupPlan("Write the report", ["Collect", "Read", "Write", "Send"]));
    session.dispatch(updateStep(1, { status: "done" }));
    session.dispatch(updateStep(2, { status: "done" }));
    const checkpoint = JSON.stringify(session.snapshot());
    session.dispatch(updateStep(3, { status: "in_progress" }));

    const restarted = newSession();
    restarted.rollback(Snapshot.fromJSON(checkpoint));
    const text = taskPrompt.render(restarted, input);
    expect(text).toContain(
      [
        "**Objective**: Write the report",
        "",
        "**Completed:**",
        "- ✓ Collect",
        "- ✓ Read",
        "",
        "**Remaining:**",
        "- Write (pending)",
        "- Send (pending)",
      ].join("\n"),
    );
    expect(text.match(/✓/g)).toHaveLength(2);
  });

  it("shows the results that were computed before a crash", () => {
    const session = newSession();
    const result = {
      filePath: "a.ts",
      summary: "Found 3 issues.",
      metrics: { complexity: 4.2, coverage: 0.85 },
    };
    session.dispatch({ type: "FileAnalysed", result });
    const restarted = newSession();
    restarted.rollback(Snapshot.fromJSON(JSON.stringify(session.snapshot())));
    expect(restarted.query(analysisResults).all()).toEqual([result]);
    expect(taskPrompt.render(restarted, input)).toContain("- a.ts: Found 3 issues.");
  });

  it("is the same template at a start and at a resume", () => {
    const session = newSession();
    const before = JSON.stringify(taskPrompt.document);
    session.dispatch(setupPlan("Write the report", ["Collect"]));
    taskPrompt.render(session, input);
    expect(JSON.stringify(taskPrompt.document)).toBe(before);
  });
});
