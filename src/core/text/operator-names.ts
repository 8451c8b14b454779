// Merchants see that an operator acted, but neither the name of the person nor what they wrote.

const PEOPLE = /, (?=operator(?:[:,]|$)|user:|key:)/

const isOperator = (by: string) => by === 'operator' || by.startsWith('operator:')

/** Two of them if one has approved what the other proposed. */
export const peopleIn = (by: string): string[] => by.split(PEOPLE)

/** Whether an operator is one of the people. */
export function namesOperator(by: string | null): boolean {
  return by !== null && peopleIn(by).some(isOperator)
}

/** The people without the names of operators. */
export function withoutOperatorNames(by: string): string {
  return peopleIn(by)
    .map((one) => (isOperator(one) ? 'operator' : one))
    .join(', ')
}
