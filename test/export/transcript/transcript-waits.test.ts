import { expect, it } from "vitest";
import { type Json, Pipeline, Runner, Step } from "../../../src/index.ts";
import { jumpingClock, timedStore } from "../../engine/call/call-fixture.ts";
import { transcriptOf } from "./transcript-fixture.ts";

it("a transcript says in words what a run waited for, and what came", async () => {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const pipeline = Pipeline.of(
    "p",
    Step.sleep<Json>("pause", 3_600_000),
    Step.receive("paid", { event: "payment.*" }),
    Step.receive("late", { event: "news", timeoutMs: 1_000, onTimeout: "go_on" }),
  );
  const runner = new Runner(pipeline, { store, clock });
  const until = new Date(clock.now() + 3_600_000).toISOString();
  await runner.run(null, { runId: "r-1" });
  await clock.advance(3_600_000);
  await runner.resume("r-1");
  await store.sendMessage("r-1", { id: "m-1", event: "payment.confirmed", body: 7, by: { by: "bank" } });
  await runner.resume("r-1");
  await clock.advance(1_000);
  await runner.resume("r-1");
  const text = await transcriptOf(store, "r-1");
  expect(text).toContain("**The run waits** from ");
  expect(text).toContain(`Call \`r-1/pause#0.1\` sleeps until ${until} (\`r-1~1\`).`);
  expect(text).toContain("**The time has come** at ");
  expect(text).toContain("Call `r-1/paid#0.1` waits for the message `payment.*` (`r-1~2`).");
  expect(text).toContain("**bank** sent a message, which call `r-1/paid#0.1` received at ");
  expect(text).toContain("**Nothing came in time** at ");
});
