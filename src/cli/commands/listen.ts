// cowry listen: shows the events of a test merchant as they happen, and forwards them to a local address.

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
      'Show the events of a test merchant as they happen, and forward them to a local address. An event without a response is retried a few times; an error response is not retried.',
    )
    .option(
      '--forward-to <url>',
      'the address to send events to, such as http://localhost:3000/hook',
      parseUrl,
    )
    .option(
      '--events <list>',
      'only these types, separated by commas: payment.successful,refund.* and so on',
      parseEventPatterns,
    )
    .option('--print-json', 'print each event in full')
    .option('--json', 'print one JSON document per line')
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

/** Waits and retries while the service is unreachable, for example during a restart. */
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
      if (isDisconnected) report.notice('The service responds again.')
      isDisconnected = false
      return events
    } catch (error) {
      if (!isTransient(error)) throw error
      if (!isDisconnected) report.notice('The service does not respond; waiting for it.')
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
  const onChange = (isReachable: boolean, error: string | null) =>
    report.notice(
      isReachable ? `${forwardTo} answers again.` : `${forwardTo} does not respond (${error}); retrying.`,
    )
  return createForwarder({ http, clock, url: forwardTo, secret, onChange })
}

/** Events of real payments must not be sent to a developer's machine. */
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
    throw new InvalidArgumentError(
      `"${unknown}" is not an event type. The types are: ${EVENT_TYPE_NAMES.join(', ')}.`,
    )
  return patterns
}

function parseUrl(text: string): string {
  const url = URL.parse(/^\d+$/.test(text) ? `http://localhost:${text}` : text)
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new InvalidArgumentError('It must be a URL such as http://localhost:3000/hook.')
  return url.href
}
