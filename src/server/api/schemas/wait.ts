import { z } from "zod";
import { decision, json, optionalTime, pageOf, time } from "./field-schemas.ts";
import { waitKind } from "./run.ts";

export const wait = z
  .object({
    waitId: z.string(),
    runId: z.string(),
    pipeline: z.string(),
    kind: waitKind,
    status: z.enum(["open", "answered", "withdrawn"]),
    question: z.string(),
    subject: json,
    tool: z.string().nullable(),
    toolCallId: z.string().nullable(),
    argumentsHash: z.string().nullable(),
    choices: z.array(z.string()),
    createdAt: time,
    answeredAt: optionalTime,
    answeredBy: z.string().nullable(),
    people: z.array(decision),
    peopleNeeded: z.int(),
    notStarter: z.boolean(),
    answer: json,
    dueAt: optionalTime,
    onDue: z.string().nullable(),
    escalatedAt: optionalTime,
    distrusted: z
      .string()
      .nullable()
      .meta({ description: "Why it cannot be answered: rows of its run were changed by another program." }),
  })
  .meta({ id: "Wait", description: "A question to a person, a time or a message that a run waits for." });

export const waitPage = pageOf(wait, "WaitPage");

export const waitDetail = wait
  .extend({
    arguments: json.meta({ description: "What would be sent, byte for byte." }),
    argumentsBytes: z.int().nullable(),
    previous: z
      .object({ toolCallId: z.string(), request: json })
      .nullable()
      .meta({ description: "The last call of the same tool in this run, to compare with." }),
    turn: z
      .object({ stepPath: z.string(), turnIndex: z.int(), text: z.string() })
      .nullable()
      .meta({ description: "What the model said when it asked for the call." }),
    stillNeeded: z.string().nullable().meta({ description: "Who else has to approve it." }),
    mayAnswer: z.boolean().meta({ description: "False if this principal cannot be the one who answers." }),
    whyNot: z.string().nullable(),
  })
  .meta({ id: "WaitDetail" });

export const approval = z
  .strictObject({
    argumentsHash: z.string().nullable().meta({
      description: "As the wait has it: what was shown is what runs. Another one is refused with 409.",
    }),
  })
  .meta({ id: "Approval" });
export const denial = z.strictObject({ why: z.string().min(1).max(10_000) }).meta({ id: "Denial" });
export const answer = z.strictObject({ value: json }).meta({ id: "Answer" });
export const settlement = z
  .discriminatedUnion("as", [
    z.strictObject({ as: z.literal("succeeded"), result: json }),
    z.strictObject({ as: z.literal("failed"), why: z.string().min(1).max(10_000) }),
    z.strictObject({ as: z.literal("retry") }),
  ])
  .meta({ id: "Settlement", description: "What a person knows of a call in doubt." });
