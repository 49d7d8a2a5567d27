import { z } from "zod";
import { type Json, Pipeline, Step, tool } from "../../src/index.ts";

/** Has the effect of a step, once for each key. */
type HaveEffect = (runId: string, step: number, key: string) => Promise<string>;

export const STEPS = 3;

/** A pipeline of three code steps, each with one keyed effect. */
export function effectPipeline(haveEffect: HaveEffect) {
  const work = tool({
    name: "work",
    description: "Has one effect.",
    inputSchema: z.object({ step: z.number() }),
    effect: "external",
    recovery: "keyed",
    dedupe: "call",
    execute: ({ step }, { runId, idempotencyKey }) => haveEffect(runId, step, idempotencyKey),
  });
  const step = (n: number) => Step.run(`step-${n}`, (_: Json, ctx) => ctx.call(work, { step: n }));
  return Pipeline.of("effects", step(1), step(2), step(STEPS));
}
