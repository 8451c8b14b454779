// cowry sandbox: the test provider in a process of its own, so that it outlives whatever happens to the service.

import { once } from 'node:events'
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { systemClock } from '../../kit/clock.ts'
import { createLog } from '../../kit/log.ts'
import { systemRandom } from '../../kit/random.ts'
import { sandboxWebhookSecretOf } from '../../secrets/secrets.ts'
import { type JsonOption, parseInteger, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError } from '../terminal.ts'

interface SandboxOptions extends JsonOption {
  host: string
  port: number
  dataDir?: string
}

export function addSandboxCommand(program: Command, shell: Shell): void {
  withJson(program.command('sandbox'))
    .description(
      'Run the sandbox gateway alone. Give the service COWRY_SANDBOX_URL and the same COWRY_SANDBOX_SECRET.',
    )
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port to listen on; 0 takes a free one', parseInteger, 8090)
    .option('--data-dir <folder>', 'where it keeps what it executed (COWRY_DATA_DIR by default)')
    .action(async (options: SandboxOptions) => {
      const sandbox = await start(shell, options)
      const message = `The sandbox gateway listens on ${sandbox.url}`
      const envelope = { status: 'success', message, data: { url: sandbox.url } } as const
      shell.show(envelope, options, () => `${message}\n`)
      await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
      await sandbox.close()
    })
}

async function start(shell: Shell, { host, port, dataDir }: SandboxOptions) {
  const config = readConfig(shell.env)
  const secret = config.sandboxSecret
  if (config.environment === 'production' || !secret)
    throw new CommandError(
      'settings',
      'Set COWRY_SANDBOX_SECRET to the secret that the service has too (openssl rand -base64 33). Staging only.',
    )
  const { serveSandbox } = await import('../../gateways/sandbox/provider/serve.ts')
  return serveSandbox({
    host,
    port,
    dataDir: dataDir ?? config.dataDir,
    secret,
    webhookSecret: sandboxWebhookSecretOf(secret),
    webhookUrl: `${config.publicUrl}/hooks/sandbox`,
    publicUrl: config.sandboxUrl ?? undefined,
    clock: systemClock,
    random: systemRandom(systemClock),
    log: createLog(config.logLevel),
  })
}
