/** What of the body of a refusal a decision reads. Azure leaves out what it has nothing to say of. */
export interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  /** The member of the request that Azure means, such as `vmSize`. */
  readonly target?: string | null;
  /**
   * Azure's network provider says here what its message only hints at. Throttled requests are counted here, in JSON.
   */
  readonly details?: ReadonlyArray<ErrorDetail> | null;
}

/** One of the further words of a refusal. */
export interface ErrorDetail {
  readonly code?: string;
  readonly message?: string;
  readonly target?: string | null;
}

/** Reads the body of an answer from 400 up; undefined for one that says nothing of an error, such as a page in HTML. */
export function parseErrorBody(text: string | null | undefined): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(text ?? '') as { readonly error?: Raw | null };
    if (!isRaw(error)) return undefined;
    const details = Array.isArray(error['details']) ? error['details'].filter(isRaw).map(wordsOf) : [];
    return { ...wordsOf(error), details };
  } catch {
    return undefined;
  }
}

type Raw = Readonly<Record<string, unknown>>;

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is no text says nothing: who stands between Azure and us may answer anything. */
function wordsOf(raw: Raw): ErrorDetail {
  const text = (key: string): Partial<Record<string, string>> =>
    typeof raw[key] === 'string' ? { [key]: raw[key] } : {};
  return { ...text('code'), ...text('message'), ...text('target') };
}
