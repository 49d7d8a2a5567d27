// Viewers and live parts: what is shown, what is taken back, and what of it must not matter.

import type { Mutant } from "./mutant.ts";

export const VIEWER_MUTANTS: readonly Mutant[] = [
  {
    what: "a viewer that comes back misses what else the event of its cursor stands for",
    patches: [
      {
        file: "engine/watch/watch-run.ts",
        right: "this.#seq = Math.max(0, skip.seq - 1);",
        wrong: "this.#seq = skip.seq;",
      },
    ],
    breaks: "viewer-converges",
    scenario: "stream-tools",
  },
  {
    what: "a viewer is not given the receipts that are stored with a commit",
    patches: [
      {
        file: "engine/watch/watched-facts.ts",
        right: "    ...receipts(facts),\n    commit,",
        wrong: "    commit,",
      },
    ],
    breaks: "viewer-converges",
    scenario: "stream-tools",
  },
  {
    what: "what a dead worker wrote is not taken back",
    patches: [
      {
        file: "engine/watch/run-fold.ts",
        right: '      this.#isEnded = false;\n      return this.#end(() => true, "lost");',
        wrong: "      this.#isEnded = false;\n      this.#open.clear();\n      return [];",
      },
    ],
    breaks: "withdrawn-is-never-final",
    scenario: "stream-answer",
  },
  {
    what: "what a failed attempt wrote is not taken back",
    patches: [
      {
        file: "engine/watch/run-fold.ts",
        right:
          'return this.#end(\n          (each) => each.step === step && each.turn === turn,\n          interrupted === true ? "interrupted" : "failed",\n        );',
        wrong: "void interrupted;\n        this.#open.delete(keyOf(step, turn));\n        return [];",
      },
    ],
    breaks: "withdrawn-is-never-final",
    scenario: "stream-cut",
  },
  {
    what: "a viewer is shown what an earlier worker writes",
    patches: [
      {
        file: "engine/watch/run-fold.ts",
        right: "return epoch === this.#epoch && this.#open.get(keyOf(step, turn))?.attempt === attempt;",
        wrong: "return !this.#isEnded && epoch + turn + attempt > 0 && step !== '';",
      },
    ],
    breaks: "old-epochs-are-silent",
    scenario: "stream-answer",
  },
  {
    what: "a viewer is shown what a worker writes that has lost the run",
    patches: [
      {
        file: "engine/watch/run-fold.ts",
        right: "return epoch === this.#epoch && this.#open.get(keyOf(step, turn))?.attempt === attempt;",
        wrong: "return this.#open.has(keyOf(step, turn)) && epoch + attempt > 0;",
      },
    ],
    breaks: "old-epochs-are-silent",
    scenario: "stream-deaf",
    schedule: "pause before model.piece 1; wake before model.piece 3",
  },
  {
    what: "a stream that breaks off counts as an answer",
    patches: [
      {
        file: "adapters/ai-sdk/ai-sdk-stream.ts",
        right: 'if (done) throw new UnfinishedAnswerError("the stream ended in the middle of the answer");',
        wrong: "if (done) return { ...NO_FIGURES, ...about, content: content.content, excess: null };",
      },
    ],
    breaks: "no-half-answer-journaled",
    scenario: "stream-cut",
  },
  {
    what: "a stream with an error in it counts as an answer",
    patches: [
      {
        file: "adapters/ai-sdk/ai-sdk-stream.ts",
        right: 'if (part.type === "error") throw errorIn(part.error, content);',
        wrong:
          'if (part.type === "error") return { ...NO_FIGURES, ...about, content: content.content, excess: null };\n      void errorIn;',
      },
    ],
    breaks: "no-half-answer-journaled",
    scenario: "stream-cut",
  },
  {
    what: "an answer whose pieces cannot be written is refused",
    patches: [
      {
        file: "engine/run/live-answers.ts",
        right: "const sink = store?.begin(attempt, (reason) => this.#warnOfTrouble(reason));",
        wrong:
          "let trouble: string | null = null;\n    const sink = store?.begin(attempt, (reason) => {\n      trouble = reason;\n      this.#warnOfTrouble(reason);\n    });",
      },
      {
        file: "engine/run/live-answers.ts",
        right: "      answered: ({ usage }) => {\n        end();",
        wrong:
          "      answered: ({ usage }) => {\n        if (trouble !== null) throw new Error(trouble);\n        end();",
      },
    ],
    breaks: "live-changes-nothing",
    scenario: "stream-answer",
  },
  {
    what: "an answer that is shown is charged as one without figures",
    patches: [
      {
        file: "engine/turn/model-call.ts",
        right: 'const charge = chargeOf(scope, call, { kind: "answered", usage: outcome.response.usage });',
        wrong:
          'const usage = live === null ? outcome.response.usage : null;\n      const charge = chargeOf(scope, call, { kind: "answered", usage });',
      },
    ],
    breaks: "live-changes-nothing",
    scenario: "stream-answer",
  },
];
