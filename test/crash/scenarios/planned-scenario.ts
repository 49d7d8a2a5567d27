// An agent that plans four bookings, makes one after the other and marks each as done. It reads its next step from its
// prompt.

import { z } from "zod";
import { renderProgress } from "../../../examples/milestones/task-prompt.ts";
import {
  agent,
  append,
  defineSlice,
  dynamic,
  markdown,
  planning,
  planSlice,
  promptTemplate,
  Step,
  type StepNode,
  type ToolCallContext,
} from "../../../src/index.ts";
import type { ScriptedResponse, ScriptedTurn } from "../../../src/testing/index.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { recordWitness } from "../harness/witness.ts";
import { type Booked, bookingOf, bookTool, lookTool } from "./booking-scenarios.ts";
import type { Setting } from "./tool-work.ts";

/** The default tables, one for each step of the plan. */
export const TABLES = ["window", "terrace", "garden", "cellar"] as const;

type Prompt = ScriptedTurn["options"]["prompt"];
type Call = NonNullable<ScriptedResponse["toolCalls"]>[number];

/**
 * With bookings marked `apart`: turn 1 plans, 2 makes the first booking, 3 marks it, and so on to 9; 10 reports. `at once`:
 * turn 1 plans, 2 to 5 make a booking and mark it, 6 reports. `in pairs`: 1 plans, 2 and 3 book, 4 marks both, 5 and 6
 * book, 7 marks both, 8 reports. With `adds`, turn 2 adds the steps, and all others come one later.
 */
export function planned(setting: Setting): StepNode {
  const { folder, variant } = setting;
  const modelId = variant.modelId ?? "planner-1";
  const model = scriptedPort(
    ({ options: { prompt } }) => {
      const { done, remaining } = progressIn(prompt);
      const response = nextOf(setting, prompt);
      const asks = (response.toolCalls ?? []).map(nameOf);
      recordWitness(folder, { kind: "prompted", model: modelId, done, remaining, asks });
      return response;
    },
    { modelId },
  );
  const { calls = ["book"] } = bookingOf(setting);
  const tools = {
    ...(calls.includes("book") ? { book: bookTool(setting, recordBooked) } : {}),
    ...(calls.includes("look") ? { look: lookTool(setting) } : {}),
  };
  const instructions = promptOf(setting);
  const planner = agent({ name: "planner", model, instructions, tools, slices: [bookedSlice] });
  return Step.granular("planned", planner, variant.step);
}

type TableBooked = { readonly type: "TableBooked"; readonly booked: Booked };

/** The session events of the bookings: each booking once, whichever process made it and however often it was requested. */
const bookedSlice = defineSlice({
  name: "booked",
  schema: z.object({ table: z.string(), answer: z.string() }),
  reducers: { TableBooked: append(({ booked }: TableBooked) => booked) },
});

function recordBooked({ session }: ToolCallContext, booked: Booked): void {
  session.dispatch({ type: "TableBooked", booked });
}

function promptOf({ variant }: Setting) {
  return promptTemplate({
    namespace: "tests",
    key: "bookings",
    version: variant.plan?.promptVersion ?? 1,
    parameters: z.object({ objective: z.string() }),
    sections: [
      markdown({ key: "objective", title: "Objective", template: "$objective" }),
      dynamic({ key: "progress", title: "Progress", render: renderProgress, slices: [planSlice] }),
      planning(),
    ],
  });
}

function nextOf({ variant }: Setting, prompt: Prompt): ScriptedResponse {
  const { tables = TABLES, marks = "apart", adds = false } = variant.plan ?? {};
  const { calls = ["book"] } = variant.booking ?? {};
  const { isPlanned, done, remaining } = progressIn(prompt);
  if (!isPlanned) return { toolCalls: [planOf(adds ? tables.slice(0, 2) : tables)] };
  if (done.length + remaining.length < tables.length) return { toolCalls: tables.slice(2).map(additionOf) };
  if (remaining.length === 0) return { text: `Booked: ${done.join(", ")}.` };
  // Steps that this conversation has worked on and not marked.
  const open = asked(prompt, calls[0] ?? "book") - asked(prompt, MARK);
  const table = remaining[open] ?? "";
  const work = calls.map((name): Call => ({ name, input: { table } }));
  if (marks === "at once") return { toolCalls: [...(open === 0 ? work : []), markOf(done.length + 1)] };
  const size = marks === "in pairs" ? 2 : 1;
  if (open < size) return { toolCalls: work };
  return { toolCalls: remaining.slice(0, size).map((_, i) => markOf(done.length + 1 + i)) };
}

const MARK = "planning_update_step";

function planOf(steps: readonly string[]): Call {
  return { name: "planning_setup_plan", input: { objective: "Book", steps } };
}

function additionOf(table: string): Call {
  return { name: "planning_add_step", input: { steps: [table] } };
}

function markOf(id: number): Call {
  return { name: MARK, input: { id, status: "done" } };
}

function nameOf({ name, input }: Call): string {
  const { table, id } = input as { readonly table?: string; readonly id?: number };
  return `${name} ${table ?? id ?? ""}`.trimEnd();
}

/** The state of the plan in the prompt. */
function progressIn(prompt: Prompt) {
  const text = prompt.map((message) => (message.role === "system" ? message.content : "")).join("\n");
  const titles = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, title]) => title ?? "");
  return {
    isPlanned: !text.includes("No progress yet"),
    done: titles(/^- ✓ (.+)$/gm),
    remaining: titles(/^- (?!✓)(\S+) \((?:pending|in_progress)\)$/gm),
  };
}

/** How often this conversation has called the tool without an error. */
function asked(prompt: Prompt, name: string): number {
  const failed = new Set(
    prompt.flatMap((message) =>
      message.role !== "tool"
        ? []
        : message.content.flatMap((part) =>
            part.type === "tool-result" && part.output.type.startsWith("error") ? [part.toolCallId] : [],
          ),
    ),
  );
  return prompt.flatMap((message) =>
    message.role !== "assistant"
      ? []
      : message.content.filter(
          (part) => part.type === "tool-call" && part.toolName === name && !failed.has(part.toolCallId),
        ),
  ).length;
}
