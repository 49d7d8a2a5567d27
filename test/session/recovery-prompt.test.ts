import { describe, expect, it } from "vitest";
import { z } from "zod";
import { planSlice, setupPlan, updateStep } from "../../src/session/plan.ts";
import { dynamic, markdown, planning } from "../../src/session/prompt-section.ts";
import { promptTemplate } from "../../src/session/prompt-template.ts";
import { Session, type SessionView } from "../../src/session/session.ts";
import { Snapshot } from "../../src/session/snapshot.ts";

// The recovery-aware prompt of the specification: it gets no word about a resume, it only looks at the session.
const taskPrompt = promptTemplate({
  namespace: "tasks",
  key: "execute",
  version: 1,
  parameters: z.object({ objective: z.string() }),
  sections: [
    markdown({ key: "objective", title: "Objective", template: "$objective" }),
    dynamic({ key: "progress", title: "Progress", slices: [planSlice], render: renderProgress }),
    planning({ strategy: "plan_act_reflect" }),
  ],
});

function renderProgress(session: SessionView): string {
  const plan = session.query(planSlice).latest();
  if (plan === null) return "No progress yet. Create a plan to get started.";
  const completed = plan.steps.filter(({ status }) => status === "done");
  const pending = plan.steps.filter(({ status }) => status !== "done");
  return [
    `**Objective**: ${plan.objective}`,
    "",
    ...(completed.length > 0 ? ["**Completed:**", ...completed.map(({ title }) => `- ✓ ${title}`), ""] : []),
    ...(pending.length > 0
      ? ["**Remaining:**", ...pending.map(({ title, status }) => `- ${title} (${status})`)]
      : []),
  ].join("\n");
}

const input = { objective: "Write the report" };

function newSession(): Session {
  return new Session({ id: "s", createdAt: 0, slices: taskPrompt.slices });
}

describe("the recovery-aware prompt", () => {
  it("says at a fresh start that there is no progress yet", () => {
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

  it("is the same template at a start and at a resume", () => {
    const session = newSession();
    const before = JSON.stringify(taskPrompt.document);
    session.dispatch(setupPlan("Write the report", ["Collect"]));
    taskPrompt.render(session, input);
    expect(JSON.stringify(taskPrompt.document)).toBe(before);
  });
});
