// cowry mcp: an MCP server on standard input and output, for agents that start their servers as processes. It forwards each
// message to /mcp of a running service.

import { createInterface } from 'node:readline'
import { type Command, InvalidArgumentError } from 'commander'
import { createForwarding } from '../mcp-forwarding.ts'
import type { KeyOption } from '../merchant-client.ts'
import { type JsonOption, withKey } from '../options.ts'
import type { Shell } from '../shell.ts'

interface McpOptions extends JsonOption, KeyOption {
  url?: string
}

export function addMcpCommand(program: Command, shell: Shell): void {
  withKey(program.command('mcp'))
    .description(
      'Serve agents over standard input and output (Model Context Protocol): tools that find and explain payments, and change what the key allows. docs/guides/agents.md has the settings of usual agents.',
    )
    .option(
      '--url <url>',
      'the address of the service (default: COWRY_URL, or the service of the data folder)',
      parseOrigin,
    )
    .option('--json', 'print an error of the start as JSON')
    .action((options: McpOptions) => serveAgent(shell, options))
}

async function serveAgent(shell: Shell, { url, merchantKey }: McpOptions): Promise<void> {
  const signal = shell.untilInterrupted()
  await shell.withMerchant({ url, merchantKey }, async (merchant, { reconnect }) => {
    // Standard output carries messages alone, so this goes to standard error.
    shell.terminal.err(
      `Serving agents with ${merchant.prefix} at ${merchant.url}. Input is one JSON message a line.\n`,
    )
    const write = (message: object) => shell.terminal.out(`${JSON.stringify(message)}\n`)
    const forwarding = createForwarding(merchant, reconnect, write)
    const lines = createInterface({
      input: shell.terminal.input ?? process.stdin,
      crlfDelay: Number.POSITIVE_INFINITY,
    })
    signal.addEventListener('abort', () => lines.close(), { once: true })
    for await (const line of lines) forwarding.take(line)
    await forwarding.whenIdle()
  })
}

function parseOrigin(text: string): string {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.pathname !== '/' || url.search !== '')
    throw new InvalidArgumentError(
      'It must be the address of the service alone, such as https://pay.example.com.',
    )
  return url.origin
}
