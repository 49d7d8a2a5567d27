/**
 * A prompt that shows the progress of the work. It needs no information about restarts: it reads the session, which is empty
 * on a fresh start and holds the plan after an interruption.
 */
import { z } from "zod";
import { dynamic, markdown, planning, planSlice, promptTemplate, type SessionView } from "../../src/index.ts";
import { analysisResults } from "./analysis.ts";

export const taskPrompt = promptTemplate({
  namespace: "tasks",
  key: "execute",
  version: 1,
  parameters: z.object({ objective: z.string() }),
  sections: [
    markdown({ key: "objective", title: "Objective", template: "$objective" }),
    dynamic({
      key: "progress",
      title: "Progress",
      render: renderProgress,
      slices: [planSlice],
      visibility: "full",
    }),
    dynamic({ key: "results", title: "Results", render: renderResults, slices: [analysisResults] }),
    planning({ strategy: "plan_act_reflect" }),
  ],
});

export function renderProgress(session: SessionView): string {
  const plan = session.query(planSlice).latest();
  if (plan === null) return "No progress yet. Create a plan to get started.";
  const lines = [`**Objective**: ${plan.objective}`, ""];
  const completed = plan.steps.filter(({ status }) => status === "done");
  const pending = plan.steps.filter(({ status }) => status !== "done");
  if (completed.length > 0) lines.push("**Completed:**", ...completed.map(({ title }) => `- ✓ ${title}`), "");
  if (pending.length > 0)
    lines.push("**Remaining:**", ...pending.map(({ title, status }) => `- ${title} (${status})`));
  return lines.join("\n");
}

function renderResults(session: SessionView): string {
  const results = session.query(analysisResults).all();
  if (results.length === 0) return "None yet.";
  return results.map(({ filePath, summary }) => `- ${filePath}: ${summary}`).join("\n");
}
