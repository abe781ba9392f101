/** One thing that is wrong with a plan. A plan with a `fatal` finding must not be executed. */
export interface Finding {
  readonly severity: 'fatal' | 'warning';
  readonly rule: string;
  readonly text: string;
}

export function fatal(rule: string, text: string): Finding {
  return { severity: 'fatal', rule, text };
}

export function warning(rule: string, text: string): Finding {
  return { severity: 'warning', rule, text };
}
