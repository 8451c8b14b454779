// cowry listen: the events of a test merchant on a developer's own machine, as they happen.

import { type Command, InvalidArgumentError } from 'commander'
import { EVENT_TYPE_NAMES } from '../../core/event-types.ts'
import { createEventStream, type StreamedEvent } from '../event-stream.ts'
import { createForwarder, ensureListenSecret } from '../forward.ts'
import { isAccepted, jsonReport, type ListenReport, type Totals, textReport } from '../listen-report.ts'
import type { KeyOption, MerchantClient } from '../merchant-client.ts'
import { commaSeparated, type JsonOption, withKey } from '../options.ts'
import { isTransient } from '../service-client.ts'
import type { ClientContext, Shell } from '../shell.ts'
import { CommandError } from '../terminal.ts'

interface ListenOptions extends JsonOption, KeyOption {
  forwardTo?: string
  events?: string[]
  printJson?: boolean
}

const POLL_MS = 1_000

export function addListenCommand(program: Command, shell: Shell): void {
  withKey(program.command('listen'))
    .description(
      'Show the events of a test merchant as they happen, and send them to an address of yours. An event that nobody answers there is tried a few times; what is answered with an error is not tried again.',
    )
    .option('--forward-to <url>', 'where to send them, such as http://localhost:3000/hook', parseUrl)
    .option(
      '--events <list>',
      'only these, separated by commas: payment.successful,refund.* and so on',
      parseEventPatterns,
    )
    .option('--print-json', 'print each event in full')
    .option('--json', 'print one JSON document a line')
    .action((options: ListenOptions) => listen(shell, options))
}

async function listen(shell: Shell, options: ListenOptions): Promise<void> {
  const { terminal, clock } = shell
  const report = options.json ? jsonReport(terminal) : textReport(terminal, clock, options.printJson ?? false)
  const signal = shell.untilInterrupted()
  await shell.withMerchant(options, async (merchant, context) => {
    requireTestKey(merchant)
    const next = await openStream(merchant, context, report)
    const forward = await openForward(shell, merchant, context, options, report)
    const totals: Totals = { events: 0, accepted: 0, refused: 0 }
    while (!signal.aborted) {
      const events = (await next()).filter(({ type }) => isWanted(type, options.events))
      for (const event of events)
        if (!signal.aborted) await processEvent(event, forward, report, totals, signal)
      await clock.sleep(POLL_MS, signal)
    }
    report.end(totals)
  })
}

type Forward = ReturnType<typeof createForwarder> | undefined

async function processEvent(
  event: StreamedEvent,
  forward: Forward,
  report: ListenReport,
  totals: Totals,
  signal: AbortSignal,
): Promise<void> {
  const forwarded = forward ? await forward(event, signal) : null
  totals.events += 1
  if (forwarded) totals[isAccepted(forwarded) ? 'accepted' : 'refused'] += 1
  report.event(event, forwarded)
}

/** A service that is away for a while, as it is when it restarts, is waited for. */
async function openStream(
  merchant: MerchantClient,
  context: ClientContext,
  report: ListenReport,
): Promise<() => Promise<StreamedEvent[]>> {
  let client = merchant
  let isDisconnected = false
  const stream = createEventStream(() => client.call)
  await stream.begin()
  return async () => {
    try {
      const events = await stream.next()
      if (isDisconnected) report.notice('The service answers again.')
      isDisconnected = false
      return events
    } catch (error) {
      if (!isTransient(error)) throw error
      if (!isDisconnected) report.notice('The service does not answer; waiting for it.')
      isDisconnected = true
      client = await context.reconnect().catch(() => client)
      return []
    }
  }
}

async function openForward(
  { clock, random }: Shell,
  { url, prefix }: MerchantClient,
  { http, config }: ClientContext,
  options: ListenOptions,
  report: ListenReport,
): Promise<Forward> {
  const { forwardTo } = options
  const secret = forwardTo === undefined ? null : await ensureListenSecret(config.dataDir, random)
  report.begin({ url, merchantKey: prefix, forwardTo: forwardTo ?? null, secret })
  if (forwardTo === undefined || secret === null) return undefined
  const onChange = (isAnswering: boolean, error: string | null) =>
    report.notice(
      isAnswering
        ? `${forwardTo} answers again.`
        : `Nobody answers at ${forwardTo} (${error}); trying again.`,
    )
  return createForwarder({ http, clock, url: forwardTo, secret, onChange })
}

/** Events of real payments do not belong on a developer's machine. */
export function requireTestKey({ prefix }: Pick<MerchantClient, 'prefix'>): void {
  if (prefix.startsWith('cowry_live_'))
    throw new CommandError('live_key', 'This is a live key; use a cowry_test_ key of a staging service here.')
}

function isWanted(type: string, patterns: readonly string[] | undefined): boolean {
  return patterns === undefined || patterns.some((pattern) => matches(type, pattern))
}

function matches(type: string, pattern: string): boolean {
  return (
    pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
  )
}

function parseEventPatterns(text: string): string[] {
  const patterns = commaSeparated(text)
  const unknown = patterns.find((pattern) => !EVENT_TYPE_NAMES.some((type) => matches(type, pattern)))
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is no event. There are: ${EVENT_TYPE_NAMES.join(', ')}.`)
  return patterns
}

function parseUrl(text: string): string {
  const url = URL.parse(/^\d+$/.test(text) ? `http://localhost:${text}` : text)
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new InvalidArgumentError('It must be an address such as http://localhost:3000/hook.')
  return url.href
}
