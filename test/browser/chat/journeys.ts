// What happens to people who use a chat. Each journey ends with what the store has, whatever was killed on the way.

import { expect } from "vitest";
import type { ChatTest } from "./chat-test.ts";

export type Journey = {
  readonly title: string;
  readonly run: (test: ChatTest) => Promise<void>;
  /** It changes the settings or the clock of the processes, so no other journey shares them. */
  readonly isAlone?: true;
};

const HELLO = "Hello there.";
const HELLO_LINES = [
  /user: Hello there\.$/,
  /assistant: Welcome to Kettle & Co! You said: “Hello there\.”.*twice\.$/,
];
const REFUND = "Please refund A-17.";
const ASKED_LINES = [/user: Please refund A-17\.$/, /find_order: output-available$/];
const REFUNDED_LINES = [
  ...ASKED_LINES,
  /refund: output-available$/,
  /assistant: Done: the money for A-17 .*you\?$/,
];

const FOUND_LINES = [
  /user: Where is A-17\?$/,
  /find_order: output-available$/,
  /assistant: Order A-17 is a blue kettle .* return it\.$/,
];
const TWO_LINES = [
  /user: One\.$/,
  /assistant: Welcome .*“One\.”.*twice\.$/,
  /user: Two\.$/,
  /assistant: Welcome .*“Two\.”.*twice\.$/,
];

/** Two messages wait for the second half of an answer, of which a part is stored. */
async function queuesTwo(test: ChatTest) {
  test.chat.model.holdNext(1).release();
  const held = test.chat.model.holdNext(3);
  const tab = await test.open();
  await tab.say("Where is A-17?");
  await tab.sees("Order A-17 is");
  await tab.say("One.", "Queue");
  await tab.say("Two.", "Queue");
  await test.isStored("Two.");
  return { tab, release: () => held.release() };
}

/** Where the model stops: it has written "Welcome to Kettle ". */
const HALF = 3;

export const JOURNEYS: readonly Journey[] = [
  {
    title: "types a message and reads the answer while it is written",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      await hold.reached;
      expect((await tab.lines()).at(-1)).toMatch(/assistant: Welcome to Kettle ?$/);
      await tab.sawStatus("answering");
      hold.release();
      await test.ends([tab], { asked: 1, lines: HELLO_LINES });
    },
  },
  {
    title: "reloads in the middle of an answer",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      await tab.reload();
      await tab.sees("Welcome to Kettle");
      hold.release();
      await test.ends([tab], { asked: 1, lines: HELLO_LINES });
      await tab.reload();
      await tab.sees("You said");
      await test.ends([tab], { asked: 1, lines: HELLO_LINES });
    },
  },
  {
    title: "has its worker killed in the middle of an answer",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const again = test.chat.model.holdNext(1);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      await hold.reached;
      await test.killWorker();
      // The other worker asks again, and what was shown is taken back.
      await again.reached;
      await expect
        .poll(async () => (await tab.lines()).at(-1), { timeout: 30_000 })
        .toMatch(/assistant: Welcome ?$/);
      again.release();
      await test.ends([tab], { asked: 2, lines: HELLO_LINES });
    },
  },
  {
    title: "has its worker killed when the money has moved and nothing is stored of it",
    run: async (test) => {
      const moved = Promise.withResolvers<void>();
      const answered = Promise.withResolvers<void>();
      test.chat.onRefund = () => {
        moved.resolve();
        return answered.promise;
      };
      const tab = await test.open();
      await tab.say(REFUND);
      await tab.press("Approve");
      await moved.promise;
      test.chat.onRefund = () => Promise.resolve();
      await test.killWorker();
      answered.resolve();
      await test.ends([tab], { asked: 3, refunds: 1, lines: REFUNDED_LINES });
    },
  },
  {
    title: "has its server killed in the middle of an answer",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      await test.chat.kill("server");
      await test.serverReturns(tab);
      await tab.sees("Welcome to Kettle");
      hold.release();
      await test.ends([tab], { asked: 1, lines: HELLO_LINES });
    },
  },
  {
    title: "writes while the server is dead",
    run: async (test) => {
      const tab = await test.open();
      await tab.say(HELLO);
      await test.ends([tab], { asked: 1, lines: HELLO_LINES });
      await test.chat.kill("server");
      await tab.say("Are you there?");
      await test.serverReturns(tab);
      await tab.sees("You said: “Are you there?”");
      await test.ends([tab], {
        asked: 2,
        lines: [...HELLO_LINES, /user: Are you there\?$/, /assistant: Welcome .*twice\.$/],
      });
    },
  },
  {
    title: "stops an answer, and asks something else",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      await tab.press("Stop");
      await tab.settles();
      hold.release();
      await test.ends([tab], { asked: 1, lines: HELLO_LINES.slice(0, 1) });
      await tab.say("Where is B-4?");
      await tab.sees("a teapot for six");
      await test.ends([tab], {
        asked: 3,
        lines: [
          ...HELLO_LINES.slice(0, 1),
          /user: Where is B-4\?$/,
          /find_order: output-available$/,
          /assistant: Order B-4 is a teapot .* return it\.$/,
        ],
      });
    },
  },
  {
    title: "reads that an answer has failed, and asks again",
    run: async (test) => {
      test.chat.model.refuseNext(400);
      const tab = await test.open();
      await tab.say("Is it hot?");
      await tab.sees("The answer failed. Send your message again.");
      await tab.sawStatus("refused");
      await tab.say(HELLO);
      await tab.sees("You said");
      // The model sees a mark in place of the message that it refused.
      const answer =
        /assistant: Welcome to Kettle & Co! You said: “\[Left out: [^\]]+ was refused\.\]\s+Hello there\.”.*twice\.$/;
      await test.ends([tab], { asked: 2, lines: [/user: Is it hot\?$/, /user: Hello there\.$/, answer] });
    },
  },
  {
    title: "approves a refund",
    run: async (test) => {
      const tab = await test.open();
      await tab.say(REFUND);
      await tab.sawStatus("asking");
      expect(test.chat.shop.refunds).toEqual(test.chat.shop.refunds.slice(0, test.refundsBefore));
      await tab.press("Approve");
      await test.ends([tab], { asked: 3, refunds: 1, lines: REFUNDED_LINES });
    },
  },
  {
    title: "approves a refund in one tab, and then in another",
    run: async (test) => {
      const tab = await test.open();
      await tab.say(REFUND);
      await tab.sawStatus("asking");
      const other = await test.open(tab);
      await other.sawStatus("asking");
      await tab.press("Approve");
      await tab.sees("the money for A-17");
      await other.press("Approve");
      await test.ends([tab, other], { asked: 3, refunds: 1, lines: REFUNDED_LINES });
    },
  },
  {
    title: "denies a refund after a reload",
    run: async (test) => {
      const tab = await test.open();
      await tab.say(REFUND);
      await tab.sawStatus("asking");
      await tab.reload();
      await tab.press("Deny");
      await test.ends([tab], {
        asked: 3,
        lines: [...ASKED_LINES, /refund: output-denied$/, /assistant: As you wish: .*you\?$/],
      });
    },
  },
  {
    title: "opens a second tab in the middle of an answer, and writes there",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      const other = await test.open(tab);
      await other.sees("Welcome to Kettle");
      hold.release();
      await test.ends([tab, other], { asked: 1, lines: HELLO_LINES });
      await other.say("Where is A-17?");
      await other.sees("a blue kettle");
      await other.settles();
      await tab.returns();
      await tab.sees("a blue kettle");
      await test.ends([tab, other], {
        asked: 3,
        lines: [...HELLO_LINES, ...FOUND_LINES],
      });
    },
  },
  {
    title: "writes two messages while the agent works, which are answered one after the other",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      await tab.say("One.", "Queue");
      await tab.say("Two.", "Queue");
      await tab.sees("Waits for this answer");
      hold.release();
      await tab.sees("You said: “Two.”");
      await test.ends([tab], {
        asked: 3,
        lines: [...HELLO_LINES, ...TWO_LINES],
      });
    },
  },
  {
    title: "steers an answer that is being written",
    run: async (test) => {
      const hold = test.chat.model.holdNext(HALF);
      const tab = await test.open();
      await tab.say(HELLO);
      await tab.sees("Welcome to Kettle");
      await tab.say("In one word.", "Steer");
      await tab.sees("Read before the next step");
      await test.isStored("In one word.");
      hold.release();
      await tab.sees("You said: “In one word.”");
      await test.ends([tab], {
        asked: 2,
        lines: [
          ...HELLO_LINES,
          /steering .*: In one word\.$/,
          /assistant: Welcome .*“In one word\.”.*twice\.$/,
        ],
      });
    },
  },
  {
    title: "queues two messages, and reloads before they are answered",
    run: async (test) => {
      const { tab, release } = await queuesTwo(test);
      await tab.reload();
      await tab.sees("Waits for this answer");
      await tab.sees("Order A-17 is");
      release();
      await tab.sees("You said: “Two.”");
      await test.ends([tab], { asked: 4, lines: [...FOUND_LINES, ...TWO_LINES] });
    },
  },
  {
    title: "reloads with two messages in the queue, and has its server killed until all are answered",
    run: async (test) => {
      const { tab, release } = await queuesTwo(test);
      await tab.reload();
      await tab.sees("Waits for this answer");
      await test.chat.kill("server");
      release();
      await test.isAnswered("Two.");
      await test.serverReturns(tab);
      await tab.sees("You said: “Two.”");
      await test.ends([tab], { asked: 4, lines: [...FOUND_LINES, ...TWO_LINES] });
    },
  },
  {
    title: "comes back on the next day",
    isAlone: true,
    run: async (test) => {
      const tab = await test.open();
      await tab.say(REFUND);
      await tab.sawStatus("asking");
      await test.chat.nextDay();
      await tab.reload();
      await tab.press("Approve");
      await tab.sees("the money for A-17");
      await test.ends([tab], { asked: 3, refunds: 1, lines: REFUNDED_LINES });
    },
  },
  {
    title: "reads the answers of a new version between two messages",
    isAlone: true,
    run: async (test) => {
      const tab = await test.open();
      await tab.say(HELLO);
      await test.ends([tab], { asked: 1, lines: HELLO_LINES });
      await test.chat.deploy({ SHOP_NAME: "Teapot Ltd" });
      await tab.say("And now?");
      await tab.sees("Welcome to Teapot Ltd!");
      await test.ends([tab], {
        asked: 2,
        lines: [...HELLO_LINES, /user: And now\?$/, /assistant: Welcome to Teapot Ltd! .*twice\.$/],
      });
    },
  },
];
