import type { ReactNode } from "react";
import type { Amount, Limit } from "../../api/documents.ts";
import { countWords, limitWords, moneyWords, shortCount } from "../../words/money-words.ts";

type BudgetBarProps = { readonly charged: number; readonly reserved: number; readonly limit: number };

/** What is charged, reserved and left of a budget. Reservations are part of the limit, so it cannot overshoot. */
export function BudgetBar({ charged, reserved, limit }: BudgetBarProps): ReactNode {
  const share = (part: number): string => `${limit <= 0 ? 0 : Math.min(100, (part / limit) * 100)}%`;
  const used = limit <= 0 ? 1 : (charged + reserved) / limit;
  const colour = used >= 0.95 ? "bg-failed" : used >= 0.8 ? "bg-interrupted" : "bg-accent";
  return (
    <span className="flex h-1.5 w-full overflow-hidden rounded-full bg-line" aria-hidden="true">
      <span className={colour} style={{ width: share(charged) }} />
      <span className={`${colour} opacity-45`} style={{ width: share(reserved) }} />
    </span>
  );
}

/** The money of a run against its limit; tokens where there is no price. */
export function Spent({
  charged,
  reserved,
  limit,
}: {
  readonly charged: Amount;
  readonly reserved: Amount;
  readonly limit: Limit;
}): ReactNode {
  const isMoney = charged.microDollars + reserved.microDollars > 0 || limit.microDollars !== null;
  const most = isMoney ? limit.microDollars : limit.tokens;
  const used = isMoney ? charged.microDollars : charged.tokens;
  const held = isMoney ? reserved.microDollars : reserved.tokens;
  const words = isMoney ? moneyWords : (tokens: number) => `${countWords(tokens)} tokens`;
  const mostWords = most === null ? "" : isMoney ? limitWords(most) : countWords(most);
  const shortWords = isMoney ? moneyWords : (tokens: number) => `${shortCount(tokens)} tok`;
  const shortMost = most === null || isMoney ? mostWords : shortCount(most);
  const title = `${words(used)} charged, ${words(held)} reserved${most === null ? "" : `, ${words(Math.max(0, most - used - held))} left of ${mostWords}`}`;
  return (
    <span className="flex min-w-0 items-center justify-between gap-2" title={title}>
      <span className="whitespace-nowrap">
        {used === 0 && held === 0 && most === null ? <span className="text-ink-3">–</span> : shortWords(used)}
        {most !== null && <span className="text-ink-3"> / {shortMost}</span>}
      </span>
      {most !== null && (
        <>
          <span className="w-16 shrink-0 max-md:hidden">
            <BudgetBar charged={used} reserved={held} limit={most} />
          </span>
          <span className="sr-only">{title}</span>
        </>
      )}
    </span>
  );
}
