/** What wants lines of the screen below its head. */
export interface Wants {
  /** Lines of the whole screen, and of its head. */
  readonly rows: number;
  readonly head: number;
  /** Lines of the table with all nodes; 0: there are none. */
  readonly table: number;
  readonly reasons: number;
  /** Lines of all sentences. */
  readonly news: number;
  readonly hints: number;
}

/** Lines that each part gets; the reasons one line each. */
export interface Shares {
  readonly table: number;
  readonly reasons: number;
  /** True when a line says how many more reasons there are. */
  readonly countsRest: boolean;
  /** Lines of the block of reasons: one each, one for those that are not shown, one to stand apart. */
  readonly reasonsBlock: number;
  readonly news: number;
  readonly hints: number;
  /** Lines that nobody wants. */
  readonly spare: number;
}

/** A lower terminal shows only the last hint and one reason, and fewer lines apart. */
const LOW_ROWS = 20;
const REASONS_SHOWN = 3;
/** The last hints stay in a terminal that is not low: where the cluster is, and the keys. */
const HINTS_MIN = 2;
/** Lines of news before hints are left out for it, ... */
const NEWS_GOOD = 6;
/** ... and those that it keeps beside a table that wants all: so many, or this share. */
const NEWS_MIN = 4;
const NEWS_SHARE = 0.35;

/** Shares the height of the screen out: hints shrink first, then news and table share what is left. */
export function shareRows({ rows, head, table, reasons: wanted, news, hints: allHints }: Wants): Shares {
  const isLow = rows < LOW_ROWS;
  const reasons = Math.min(wanted, isLow ? 1 : REASONS_SHOWN);
  const countsRest = wanted > reasons && !isLow;
  const reasonsBlock = reasons === 0 ? 0 : 1 + reasons + (countsRest ? 1 : 0);
  // One line apart before the news, and one before the hints where there are lines for that.
  const room = Math.max(0, rows - head - reasonsBlock - (isLow ? 1 : 2));
  const hintsMin = Math.min(allHints, isLow ? 1 : HINTS_MIN);
  const hints = clamp(room - table - Math.min(news, NEWS_GOOD), hintsMin, allHints);
  const left = Math.max(0, room - hints);
  const least = Math.min(NEWS_MIN, Math.floor(left / 2));
  const newsKept = Math.min(news, Math.max(least, Math.floor(left * NEWS_SHARE)));
  const tableShare = Math.min(table, left - newsKept);
  const newsShare = left - tableShare;
  return {
    table: tableShare,
    reasons,
    countsRest,
    reasonsBlock,
    news: newsShare,
    hints,
    spare: Math.max(0, newsShare - news),
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
