// A tool as data: its name, schema, scopes and one call. protocol.ts lists and calls them, and docs/generated/tools.md
// is their table.

import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { ApiErrorCode } from '../core/errors.ts'
import type { Scope } from '../core/merchant.ts'
import { type ApiRequest, type CallApi, type Envelope, requireSuccess, ToolError } from './api.ts'
import { CONFIRMATION_MINUTES, type Confirmations } from './confirmation.ts'
import { CONFIRMATION_ARGUMENT, REPEAT_WRITE } from './message.ts'

export interface ToolContext {
  call: CallApi
  now: Date
  publicUrl: string
  merchantId: string
  keyId: string
  confirmations: Confirmations
  /** Whether a write with this idempotency key was executed. */
  isKeyUsed(idempotencyKey: string): Promise<boolean>
  /** The cause and the fix of an error code of the API. */
  errorHelp(code: ApiErrorCode): ErrorHelp
}

export interface ErrorHelp {
  cause: string
  fix: string
}

export interface ToolAnswer {
  /** A few sentences, only of facts that are ours: no text of payers or providers. */
  headline: string
  data: Readonly<Record<string, unknown>>
  /** Sent character by character beside `data`: the agent's own arguments, which it must repeat. */
  exact?: Readonly<Record<string, unknown>>
}

type Fields = Record<string, TSchema>
type Input<Inputs extends Fields> = Static<ReturnType<typeof Type.Object<Inputs>>>

interface Definition<Inputs extends Fields> {
  name: string
  title: string
  description: string
  /** The scopes that the API key needs, all of them. */
  scopes: readonly Scope[]
  input: Inputs
}

interface ReadDefinition<Inputs extends Fields> extends Definition<Inputs> {
  run: (context: ToolContext, input: Input<Inputs>) => Promise<ToolAnswer>
}

interface WriteDefinition<Inputs extends Fields> extends Definition<Inputs> {
  /** Whether it ends or takes back something. */
  isDestructive: boolean
  /** What would happen, in words, and the exact arguments of the second call. It changes nothing. */
  prepare: (context: ToolContext, input: Input<Inputs>) => Promise<Prepared<Input<Inputs>>>
  /** The request that executes it, from the arguments alone. */
  request: (input: Input<Inputs>) => ApiRequest
  /** The result of the request. */
  describe: (context: ToolContext, envelope: Envelope<Record<string, unknown>>) => ToolAnswer
}

interface Prepared<Arguments> {
  /** What would happen. Text of payers or providers belongs into `facts`. */
  summary: string
  arguments: Arguments
  facts: Readonly<Record<string, unknown>>
}

export interface Tool {
  name: string
  title: string
  description: string
  scopes: readonly Scope[]
  isWrite: boolean
  isDestructive: boolean
  inputSchema: TSchema
  run(context: ToolContext, input: Readonly<Record<string, unknown>>): Promise<ToolAnswer>
}

const CLOSED = { additionalProperties: false }

export function readTool<Inputs extends Fields>(definition: ReadDefinition<Inputs>): Tool {
  const { input, run, ...facts } = definition
  const inputSchema = Type.Object(input, CLOSED)
  const check = createCheck(inputSchema)
  return {
    ...facts,
    isWrite: false,
    isDestructive: false,
    inputSchema,
    // A boundary: the arguments have passed this very schema.
    run: async (context, given) => run(context, check(given) as Input<Inputs>),
  }
}

const ConfirmationToken = Type.Optional(
  Type.String({
    maxLength: 100,
    description: 'From confirmWith of the first call. Without it nothing is changed.',
  }),
)

const TWO_STEPS = `Two calls: the first changes nothing and returns a summary with confirmWith; show the summary to the user, and only after their consent call again with exactly the arguments of confirmWith, within ${CONFIRMATION_MINUTES} minutes. A repeat of the second call does not act twice.`

export function writeTool<Inputs extends Fields>(definition: WriteDefinition<Inputs>): Tool {
  const { input, prepare, request, describe, description, ...facts } = definition
  const inputSchema = Type.Object({ ...input, [CONFIRMATION_ARGUMENT]: ConfirmationToken }, CLOSED)
  const check = createCheck(inputSchema)
  return {
    ...facts,
    description: `${description} ${TWO_STEPS}`,
    isWrite: true,
    inputSchema,
    async run(context, given) {
      const { [CONFIRMATION_ARGUMENT]: token, ...rest } = check(given)
      // A boundary, as above.
      const wanted = rest as Input<Inputs>
      if (typeof token !== 'string')
        return askForConfirmation(context, facts.name, await prepare(context, wanted))
      const subject = subjectOf(context, facts.name, rest)
      const { idempotencyKey, isExpired } = context.confirmations.redeem(subject, token)
      if (isExpired && !(await context.isKeyUsed(idempotencyKey)))
        throw new ToolError('confirmation_expired', EXPIRED)
      return describe(context, await execute(context, { ...request(wanted), idempotencyKey }))
    },
  }
}

const EXPIRED = `This call changed nothing: the confirmation token is older than ${CONFIRMATION_MINUTES} minutes, and no write with it is recorded. If an earlier call with it may still be running, read the payment, refund or case first. Then call the tool without confirmationToken to get a new summary and token.`

/** A fault can come after the write was recorded, so its outcome is then not known. */
async function execute(
  { call }: ToolContext,
  request: ApiRequest,
): Promise<Envelope<Record<string, unknown>>> {
  try {
    return await requireSuccess(call, request)
  } catch (error) {
    if (!(error instanceof ToolError) || Number(error.facts.http) < 500) throw error
    throw new ToolError(error.code, `${error.message} ${REPEAT_WRITE}`, error.facts)
  }
}

const subjectOf = ({ merchantId, keyId }: ToolContext, tool: string, given: Record<string, unknown>) => ({
  merchantId,
  keyId,
  tool,
  arguments: given,
})

function askForConfirmation(context: ToolContext, tool: string, prepared: Prepared<object>): ToolAnswer {
  const given = Object.fromEntries(
    Object.entries(prepared.arguments).filter(([, value]) => value !== undefined),
  )
  const { token, expiresAt } = context.confirmations.issue(subjectOf(context, tool, given))
  return {
    headline: `Nothing is done yet. ${prepared.summary} To do it, call ${tool} again with the arguments of confirmWith.`,
    data: {
      state: 'confirmation_required',
      summary: prepared.summary,
      ...prepared.facts,
      expiresAt: expiresAt.toISOString(),
    },
    exact: { confirmWith: { tool, arguments: { ...given, [CONFIRMATION_ARGUMENT]: token } } },
  }
}

const MAX_ISSUES = 10

/** Compiled at the first call: most tools of a process are never called. */
function createCheck(schema: TSchema): (given: Readonly<Record<string, unknown>>) => Record<string, unknown> {
  let validator: ReturnType<typeof Compile> | undefined
  return (given) => {
    validator ??= Compile(schema)
    if (validator.Check(given)) return { ...given }
    const details = [...validator.Errors(given)]
      // Said by additionalProperties too.
      .filter(({ keyword }) => keyword !== 'boolean')
      .slice(0, MAX_ISSUES)
      .map(({ instancePath, message, params }) => ({
        field: instancePath.slice(1) || 'arguments',
        message: `${message} ${JSON.stringify(params)}`,
      }))
    const fields = [...new Set(details.map(({ field }) => field))].join(', ')
    throw new ToolError('invalid_arguments', `The arguments are not acceptable: ${fields}.`, { details })
  }
}
