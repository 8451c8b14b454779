// Opens a connector for a live run, from the variables of the service and the options of the command.

import packageFacts from '../../../package.json' with { type: 'json' }
import { GATEWAYS } from '../../../src/compose/gateways.ts'
import { isCurrency } from '../../../src/core/currency.ts'
import type { Mode } from '../../../src/core/merchant.ts'
import { type Money, readDecimal } from '../../../src/core/money.ts'
import { type AccountDefinition, findAccountDefinition } from '../../../src/gateways/account-definition.ts'
import { CHANNELS, type CheckoutChoice } from '../../../src/gateways/gateway.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { envNameOf } from '../../../src/settings.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt } from '../webhook-request.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import { SHOWN_PUBLIC_URL } from './redact.ts'
import { type ProviderSandbox, SANDBOXES } from './sandboxes.ts'
import type { Person, Stage } from './steps.ts'
import type { RunFacts } from './transcript.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface Place {
  amount: Money
  country: string
  choice: CheckoutChoice
}

/** The account that is named, or what is wrong with its name. */
export function findAccount(name: string): AccountDefinition | string {
  const account = findAccountDefinition(GATEWAYS, name)
  const names = GATEWAYS.map((one) => one.name).join(', ')
  return account ?? `There is no gateway named ${name}. There are: ${names}.`
}

export function sandboxOf({ gateway, title }: AccountDefinition): ProviderSandbox {
  const sandbox = SANDBOXES[gateway]
  if (!sandbox) throw new Error(`sandboxes.ts does not say how to get test credentials of ${title}`)
  return sandbox
}

function modeOf(account: AccountDefinition): Mode {
  return sandboxOf(account).movesRealMoney ? 'live' : 'test'
}

/** Why the run must not begin without the option; undefined if it moves no money, or the person agrees. */
export function requireAgreement(account: AccountDefinition, agrees: boolean): string | undefined {
  if (agrees || modeOf(account) === 'test') return undefined
  return `${account.title} has no sandbox, so this run moves real money. Add --real-money if you agree.`
}

function credentialsOf({ name, credentials }: AccountDefinition, env: Env): Record<string, string> {
  const given = credentials.map((field) => [field.name, env[envNameOf(name, field.name)] ?? ''] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== ''))
}

/** What must be set before a run, and where to get it; undefined if everything is there. */
export function describeMissing(account: AccountDefinition, env: Env): string | undefined {
  const given = credentialsOf(account, env)
  const issues = account.credentials.flatMap(({ name, isRequired, meaning, validate }) => {
    const variable = envNameOf(account.name, name)
    const value = given[name]
    if (value === undefined) return isRequired ? [`  ${variable}  ${meaning}`] : []
    const issue = validate(value, modeOf(account))
    return issue === undefined ? [] : [`  ${variable}  ${issue}`]
  })
  issues.push(...describeChoice(account, given))
  if (issues.length === 0) return undefined
  const { signUp } = sandboxOf(account)
  const isTest = modeOf(account) === 'test'
  const which = isTest ? 'test credentials of its sandbox' : 'live credentials'
  const option = isTest ? '' : '\n\nThe run moves real money: add --real-money if you agree.'
  return `${account.title} needs ${which}.\n\n${signUp}\n\nThen set:\n${issues.join('\n')}${option}`
}

/** The credentials of which at least one must be set, if none is. */
function describeChoice(
  { name, credentials, requiresOneOf = [] }: AccountDefinition,
  given: object,
): string[] {
  if (requiresOneOf.length === 0 || requiresOneOf.some((field) => field in given)) return []
  const fields = credentials.filter((field) => requiresOneOf.includes(field.name))
  const lines = fields.map((field) => `  ${envNameOf(name, field.name)}  ${field.meaning}`)
  return ['and at least one of these:', ...lines]
}

interface PlaceOptions {
  currency?: string
  country?: string
  channel?: string
  network?: string
  phone?: string
  amount?: string
}

/** What to collect and where, or which option is wrong. */
export function readPlace(account: AccountDefinition, options: PlaceOptions): Place | string {
  const { usual } = sandboxOf(account)
  const {
    currency = usual.currency,
    country = usual.country,
    amount: major = usual.amount ?? '1000',
  } = options
  if (!isCurrency(currency)) return `--currency ${currency} is not supported.`
  const amount = readDecimal(major, currency)
  if (!amount || amount.minor <= 0n) return '--amount must be an amount of the currency, such as 1000.'
  const named = options.channel ?? usual.channel
  const channel = CHANNELS.find((one) => one === named)
  if (!channel) return `--channel must be one of ${CHANNELS.join(', ')}.`
  const { phone, network = usual.network } = options
  if (channel === 'mobile_money' && phone !== undefined && !/^\+\d{8,15}$/.test(phone))
    return '--phone must be an international number, such as +256772123456.'
  const isPrompt = channel === 'mobile_money' && phone !== undefined
  return { amount, country, choice: isPrompt ? { channel, phone, network } : { channel } }
}

export interface OpenRun {
  stage: Stage
  recorder: Recorder
  facts: RunFacts
  close(): Promise<void>
}

interface RunOptions {
  env: Env
  publicUrl: string | undefined
  person: Person
  polls: number
}

export function openRun(
  account: AccountDefinition,
  { amount, country, choice }: Place,
  { env, publicUrl = SHOWN_PUBLIC_URL, person, polls }: RunOptions,
): OpenRun {
  const credentials = credentialsOf(account, env)
  const baseUrl = (env[envNameOf(account.name, 'baseUrl')] ?? account.baseUrl[modeOf(account)]).replace(
    /\/+$/,
    '',
  )
  const client = createHttpClient({ totalTimeoutMs: 60_000 })
  const recorder = createRecorder(client, { credentials, phone: choice.phone ?? null, publicUrl })
  const gateway = account.open({
    credentials,
    baseUrl,
    mode: modeOf(account),
    http: recorder.http,
    tokens: openMemoryTokens({ gateway: account.name, baseUrl, timeoutMs: 60_000 }),
    clock: systemClock,
    publicUrl: () => publicUrl,
    callbackUrl: callbackUrlAt(publicUrl, account.name),
  })
  const now = () => systemClock.now()
  const returnUrl = `${publicUrl}/return`
  const sandbox = sandboxOf(account)
  return {
    stage: { gateway, sandbox, person, amount, country, choice, returnUrl, polls, now },
    recorder,
    facts: {
      gateway: account.name,
      title: account.title,
      day: now().toISOString().slice(0, 10),
      baseUrl,
      place: `${amount.currency} in ${country}, ${choice.channel}`,
      version: packageFacts.version,
    },
    close: () => client.close(),
  }
}
