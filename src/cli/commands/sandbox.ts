// cowry sandbox: runs the sandbox gateway in its own process, so that it survives a crash of the service.

import { once } from 'node:events'
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { systemClock } from '../../kit/clock.ts'
import { createLog } from '../../kit/observability/log.ts'
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
      'Run the sandbox gateway alone. Set COWRY_SANDBOX_URL and the same COWRY_SANDBOX_SECRET for the service.',
    )
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port to listen on; 0 chooses a free one', parseInteger, 8090)
    .option('--data-dir <folder>', 'the folder for its state (default: COWRY_DATA_DIR)')
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
      'Set COWRY_SANDBOX_SECRET to the same secret as for the service (openssl rand -base64 33). Staging only.',
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
