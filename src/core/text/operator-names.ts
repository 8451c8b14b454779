// Merchants see that an operator acted, but neither the name of the person nor what they wrote.

const PEOPLE = /, (?=operator(?:[:,]|$)|user:|key:)/

const isOperator = (by: string) => by === 'operator' || by.startsWith('operator:')

/** Whether an operator is one of the people. */
export function namesOperator(by: string | null): boolean {
  return by?.split(PEOPLE).some(isOperator) ?? false
}

/** The people without the names of operators. */
export function withoutOperatorNames(by: string): string {
  return by
    .split(PEOPLE)
    .map((one) => (isOperator(one) ? 'operator' : one))
    .join(', ')
}
