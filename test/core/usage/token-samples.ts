/** Texts of the kinds that agents read and write, long enough that rounding does not decide. */
export const SAMPLES = {
  english: `A pawl is the catch that lets a ratchet move only forward. The runtime keeps every turn of an agent in a
database, so that a process which is killed in the middle of its work can be started again without losing what it
had already paid for. When a worker takes a run, it looks at the last committed turn, checks that the prompt, the
model and the tools are those the run began with, and goes on from there. Nothing is asked for twice.

Most failures are ordinary: a provider answers too slowly, a machine is restarted for an update, somebody closes a
laptop. The interesting ones happen between two writes. Did the message leave before the connection broke? If nobody
can tell, the honest answer is to say so and to let a person decide, rather than to send it again and hope for the
best. That is why each tool declares what may be done when its outcome is unknown. In 2024, about 37 percent of the
incidents we looked at came from retries that nobody had asked for; another 12 percent were caused by accounting that
drifted by a few dollars a day until someone noticed. "It was only three emails," said one engineer, "but they went to
the same customer." We don't think that's acceptable, and it isn't difficult to prevent once the order of the writes
is right: first the intent, then the effect, then the receipt.`,

  json: JSON.stringify({
    runId: "q-1",
    status: "succeeded",
    usage: { inputTokens: 1834, outputTokens: 412, cachedInputTokens: 1024, reasoningTokens: 0 },
    turns: [
      {
        turnIndex: 1,
        isComplete: false,
        text: "I will search for the latest papers first.",
        toolCalls: ["web_search"],
      },
      {
        turnIndex: 2,
        isComplete: false,
        text: "Found three of them; reading the second.",
        toolCalls: ["fetch_page"],
      },
      { turnIndex: 3, isComplete: true, text: "Here is the summary you asked for.", toolCalls: [] },
    ],
    toolCalls: [
      {
        name: "web_search",
        input: { query: "quantum error correction surface codes", limit: 10, language: "en" },
      },
      {
        name: "fetch_page",
        input: { url: "https://example.org/papers/quantum?page=2&sort=date", timeoutMs: 30000 },
      },
      {
        name: "send_email",
        input: { to: "ada@example.org", subject: "Your report", body: "It is attached.\nRegards" },
      },
    ],
    customer: {
      id: 48213,
      name: "Ada Lovelace",
      city: "London",
      active: true,
      balance: 1250.75,
      tags: ["new", "press"],
    },
    createdAt: "2026-03-14T09:26:53.589Z",
    error: null,
  }),

  typescript: `import { createHash } from "node:crypto";
import type { Store, StoredTurn } from "../store/store.ts";

export type Lease = { readonly owner: string; readonly epoch: number; readonly endsAt: number };

/** Takes the run if nobody living holds it. The epoch fences off whoever held it before. */
export async function claimRun(store: Store, runId: string, now: () => number): Promise<Lease | null> {
  const current = await store.readLease(runId);
  if (current !== null && current.endsAt > now()) {
    return null;
  }
  const lease: Lease = { owner: ownerId(), epoch: (current?.epoch ?? 0) + 1, endsAt: now() + LEASE_MS };
  const taken = await store.compareAndSetLease(runId, current?.epoch ?? 0, lease);
  return taken ? lease : null;
}

function hashTurns(turns: readonly StoredTurn[]): string {
  const hash = createHash("sha256");
  for (const turn of turns) {
    if (turn.response === undefined) throw new RangeError(\`Turn \${turn.index} has no response.\`);
    hash.update(JSON.stringify(turn.response), "utf8");
  }
  return hash.digest("hex");
}

export class RetryBudget {
  #left: number;
  constructor(maxRetriesPerToolCall = 3) {
    this.#left = maxRetriesPerToolCall;
  }
  take(): boolean {
    return this.#left-- > 0;
  }
}
`,

  german: `Eine Sperrklinke lässt ein Zahnrad nur in eine Richtung laufen. Genauso arbeitet diese Laufzeitumgebung: Jeder
Schritt eines Agenten wird genau einmal gespeichert, und ein abgebrochener Lauf geht dort weiter, wo er zuletzt
gesichert wurde. Fällt der Rechner während einer Anfrage aus, so prüft der nächste Prozess zuerst, ob die Antwort
bereits vorliegt. Liegt sie vor, wird das Modell nicht noch einmal gefragt, denn jede Frage kostet Geld und könnte
eine andere Antwort ergeben.

Schwieriger ist es bei Werkzeugen mit Wirkung nach außen. Wurde die Überweisung ausgeführt, bevor die Verbindung
abriss? Niemand kann es von hier aus wissen. Deshalb erklärt jedes Werkzeug, was im Zweifel geschehen darf:
wiederholen, nachsehen oder einen Menschen fragen. Die Überprüfung der Berechtigungen, die Größe der Anhänge und die
Höhe der Gebühren werden vor dem Absenden geprüft. Natürlich gibt es Ausnahmen, über die im Einzelfall entschieden
werden muss; für gewöhnlich genügt aber die Voreinstellung. Im vergangenen Jahr waren das ungefähr 340 Fälle, also
weniger als einer täglich.`,

  chinese: `棘轮只能朝一个方向转动，因为棘爪会挡住它。这个运行环境也是这样工作的：智能体的每一轮都只提交一次，被中断的任务会从最后一次提交的地方继续。如果机器在请求过程中停机，下一个进程会先检查答案是否已经保存。如果已经保存，就不会再次询问模型，因为每次询问都要花钱，而且可能得到不同的答案。

对外部有影响的工具更难处理。连接断开之前，转账是否已经完成？在这里没有人能够知道。因此每个工具都要说明，在结果不明的时候可以做什么：重复执行、查询结果，或者请人来决定。去年大约有340个这样的案例，平均每天不到一个。`,

  japanese: `ラチェットは一方向にしか回りません。爪がそれを止めているからです。この実行環境も同じように動きます。エージェントの各ターンは一度だけ確定され、中断された処理は最後に確定した場所から続きます。要求の途中で機械が止まった場合、次のプロセスはまず回答が保存されているかどうかを調べます。保存されていれば、モデルにもう一度尋ねることはありません。

外部に影響を与えるツールはもっと難しいです。接続が切れる前に振込は完了したのでしょうか。ここからは誰にもわかりません。そのため、各ツールは結果が不明なときに何をしてよいかを宣言します。`,

  korean: `래칫은 한 방향으로만 움직입니다. 멈춤쇠가 그것을 막고 있기 때문입니다. 이 실행 환경도 같은 방식으로 동작합니다. 에이전트의 각 턴은 한 번만 확정되고, 중단된 작업은 마지막으로 확정된 곳에서 계속됩니다. 요청 중에 컴퓨터가 멈추면 다음 프로세스는 먼저 답변이 이미 저장되어 있는지 확인합니다. 저장되어 있다면 모델에게 다시 묻지 않습니다. 질문할 때마다 비용이 들고 다른 답이 나올 수 있기 때문입니다.`,
} as const;
