import { Type } from 'typebox'
import { API_ERRORS, isApiErrorCode } from '../../core/errors.ts'
import { FAILURES } from '../../core/failures.ts'
import { nearestName } from '../../core/text/spelling.ts'
import { DEAD_REASONS } from '../../deliveries/states.ts'
import { ToolError } from '../api.ts'
import { readTool, type ToolAnswer, type ToolContext } from '../tool.ts'

const CATEGORIES = {
  soft: 'May work later or with another method: let the payer try again.',
  hard: 'Will not work again with this method: ask for another one.',
  technical: 'A fault, not a decision of the bank: try again later, and look at the gateway if it repeats.',
} as const

export const explainError = readTool({
  name: 'explain_error',
  title: 'Explain an error code',
  description:
    'Explains a code: an error of the API (error.code of a response), a failure of a payment (failure.code), or the reason of a dead webhook delivery. Says the cause, whether a retry helps, and the fix.',
  scopes: [],
  input: { code: Type.String({ minLength: 1, maxLength: 60, description: 'Such as duplicate_reference.' }) },
  async run({ publicUrl, errorHelp }, { code }) {
    const found = explanationsOf(code, errorHelp)
    const [first] = found
    if (!first) throw unknownCode(code)
    return {
      headline: found.map(({ cause, fix }) => `${cause} ${fix}`).join(' '),
      data: { code, explanations: found, documentation: `${publicUrl}/docs/errors#${code}` },
    } satisfies ToolAnswer
  },
})

function explanationsOf(code: string, errorHelp: ToolContext['errorHelp']) {
  const error = isApiErrorCode(code) ? { ...API_ERRORS[code], ...errorHelp(code) } : undefined
  const failure = entryOf(FAILURES, code)
  const dead = entryOf(DEAD_REASONS, code)
  return [
    ...(error
      ? [
          {
            kind: 'api_error',
            cause: `${error.message} ${error.cause}`,
            fix: error.fix,
            retryable: error.retryable,
            http: error.http,
          },
        ]
      : []),
    ...(failure
      ? [
          {
            kind: 'payment_failure',
            cause: failure.message,
            fix: CATEGORIES[failure.category],
            retryable: failure.retryable,
          },
        ]
      : []),
    ...(dead ? [{ kind: 'dead_delivery', cause: dead, fix: DEAD_FIX, retryable: true }] : []),
  ]
}

const DEAD_FIX =
  'Repair and enable the endpoint, then send the events again with replay_event or replay_events.'

function entryOf<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

function unknownCode(code: string): ToolError {
  const known = [API_ERRORS, FAILURES, DEAD_REASONS].flatMap((table) => Object.keys(table))
  const nearest = nearestName(code, known)
  return new ToolError(
    'unknown_code',
    `There is no such code.${nearest === undefined ? '' : ` Did you mean ${nearest}?`}`,
  )
}
