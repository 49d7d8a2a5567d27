import { type DynamicToolUIPart, getToolName, isToolUIPart, type ToolUIPart, type UIMessage } from "ai";
import type { WaitingMessage } from "./stored-chat.ts";

type MessageProps = {
  readonly message: UIMessage;
  /** Its answer is under way. */
  readonly isOpen: boolean;
  /** Null while an answer is under way: `useChat` sends nothing then. */
  readonly onAnswer: ((approvalId: string, approved: boolean) => void) | null;
};

export function Message({ message, isOpen, onAnswer }: MessageProps) {
  const { id, role, parts } = message;
  const shown = parts.map((part, i) => <Part key={`${i} ${part.type}`} part={part} onAnswer={onAnswer} />);
  const isEmpty = parts.every(({ type }) => type === "step-start");
  return (
    <li data-id={id} data-role={role} className={role} aria-busy={isOpen}>
      {shown}
      {isOpen && isEmpty ? <span className="dots" aria-label="The answer begins" /> : null}
      {!isOpen && isEmpty ? (
        <p className="note">{outcomeOf(message) === "stopped" ? "Stopped." : "No answer."}</p>
      ) : null}
    </li>
  );
}

/** How the answer has ended, as the server says. */
function outcomeOf({ metadata }: UIMessage): string | undefined {
  return (metadata as { readonly pawl?: { readonly outcome?: string } } | undefined)?.pawl?.outcome;
}

export function Waiting({ message: { id, text, mode } }: { readonly message: WaitingMessage }) {
  return (
    <li data-waiting={id} className="user waiting">
      <p className="text">{text}</p>
      <p className="note">{mode === "steer" ? "Read before the next step" : "Waits for this answer"}</p>
    </li>
  );
}

type PartProps = { readonly part: UIMessage["parts"][number]; readonly onAnswer: MessageProps["onAnswer"] };

function Part({ part, onAnswer }: PartProps) {
  if (part.type === "text") return <p className="text">{part.text}</p>;
  if (part.type === "steering-message")
    return (
      <p className="text steering" data-steering={part.id}>
        {part.parts.map((each) => (each.type === "text" ? each.text : "")).join("")}
      </p>
    );
  if (isToolUIPart(part)) return <ToolCall part={part} onAnswer={onAnswer} />;
  return null;
}

type Call = ToolUIPart | DynamicToolUIPart;

function ToolCall({ part, onAnswer }: { readonly part: Call; readonly onAnswer: MessageProps["onAnswer"] }) {
  const { order = "", amount = "" } = (part.input ?? {}) as {
    readonly order?: string;
    readonly amount?: string;
  };
  const name = getToolName(part);
  return (
    <section className="call" data-tool={name} data-state={part.state}>
      <p>
        <span>
          <b>{TITLES[name] ?? name}</b> {order} {amount === "" ? null : `(${amount})`}
        </span>
        <span className="state">{STATES[part.state]}</span>
      </p>
      {part.state === "output-error" ? <p className="note">{part.errorText}</p> : null}
      {part.state === "approval-requested" ? (
        <div className="answers">
          <button
            type="button"
            className="primary"
            disabled={onAnswer === null}
            onClick={() => onAnswer?.(part.approval.id, true)}
          >
            Approve
          </button>
          <button
            type="button"
            disabled={onAnswer === null}
            onClick={() => onAnswer?.(part.approval.id, false)}
          >
            Deny
          </button>
        </div>
      ) : null}
    </section>
  );
}

const TITLES: { readonly [tool: string]: string } = { find_order: "Look up order", refund: "Refund order" };

const STATES: { readonly [state in Call["state"]]: string } = {
  "input-streaming": "…",
  "input-available": "in progress",
  "approval-requested": "waits for you",
  "approval-responded": "answered",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "denied",
};
