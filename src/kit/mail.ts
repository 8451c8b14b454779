// Sends mail by SMTP, if the operator has configured a server. Mail is a convenience here: the caller also shows what it
// sent, such as a link to copy, so a failure is a result and not an error.

import { getSystemErrorName } from 'node:util'
import { isEmail } from '../core/text/formats.ts'
import type { Log } from './observability/log.ts'

export interface MailServer {
  host: string
  port: number
  /** TLS from the first byte; otherwise STARTTLS is required, except on this machine. */
  isTls: boolean
  login: { user: string; password: string } | undefined
}

export interface MailSender {
  name: string
  address: string
}

export interface Mail {
  to: string
  subject: string
  text: string
}

export interface Mailer {
  /** Whether the server accepted the mail. It never throws for anything that the server does. */
  sendMail(mail: Mail): Promise<boolean>
}

interface Needs {
  log: Log
  /** From the call to the server's last reply. */
  timeoutMs?: number
}

const TIMEOUT_MS = 15_000
const MAX_SUBJECT_LENGTH = 200
const PORTS = { smtp: 587, smtps: 465 }

/** Reads smtp://user:password@host:port or smtps://…; undefined for another text. */
export function readMailServer(text: string): MailServer | undefined {
  const url = URL.parse(text)
  const isTls = url?.protocol === 'smtps:'
  if (!url || !(isTls || url.protocol === 'smtp:') || url.hostname === '') return undefined
  if (!['', '/'].includes(url.pathname) || url.search || url.hash) return undefined
  const login = { user: decodePart(url.username), password: decodePart(url.password) }
  if (login.user === undefined || login.password === undefined) return undefined
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? PORTS[isTls ? 'smtps' : 'smtp'] : Number(url.port),
    isTls,
    login: login.user === '' ? undefined : { user: login.user, password: login.password },
  }
}

function decodePart(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

export function createMailer(
  { log, timeoutMs = TIMEOUT_MS }: Needs,
  server: MailServer,
  from: MailSender,
): Mailer {
  return {
    async sendMail({ to, subject, text }) {
      // One address: a list, a name or a line break would reach others than the one that was asked for.
      if (!isEmail(to)) throw new Error('mail is sent to one e-mail address')
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({
        host: server.host,
        port: server.port,
        secure: server.isTls,
        requireTLS: !server.isTls && !isLoopback(server.host),
        auth: server.login && { user: server.login.user, pass: server.login.password },
        connectionTimeout: timeoutMs,
        greetingTimeout: timeoutMs,
        socketTimeout: timeoutMs,
        dnsTimeout: timeoutMs,
        // A text is a text, never the path or address of a document.
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      const mail = { from, to: { name: '', address: to }, subject: oneLine(subject), text }
      const sending = transport.sendMail(mail)
      try {
        await within(timeoutMs, sending)
        return true
      } catch (error) {
        // Neither the address nor the server's words, which often quote it.
        log.write('mail.not_sent', describeFailure(error))
        return false
      } finally {
        transport.close()
      }
    },
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d+){3}$/.test(host)
}

/** Control characters and line breaks become spaces: none of them can begin another header. */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MAX_SUBJECT_LENGTH)
}

/** The timeouts of the library are for each step, so that a slow server could take many times as long. */
async function within(timeoutMs: number, sending: Promise<unknown>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(Object.assign(new Error('too late'), { code: 'ETIMEDOUT' })),
    timeoutMs,
  )
  try {
    await Promise.race([sending, promise])
  } finally {
    clearTimeout(timer)
    // It may still fail after the timeout, when its connection is closed.
    sending.catch(() => undefined)
  }
}

function describeFailure(error: unknown): { errorCode: string; status?: number } {
  if (!(error instanceof Error)) return { errorCode: 'unknown' }
  const errorCode = systemErrorOf(error) ?? codeOf(error)
  const status =
    'responseCode' in error && typeof error.responseCode === 'number' ? error.responseCode : undefined
  return { errorCode, status }
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** Such as ECONNREFUSED; the library replaces the code of every failed connection by one of its own. */
function systemErrorOf(error: Error): string | undefined {
  const errno = 'errno' in error && typeof error.errno === 'number' ? error.errno : 0
  return errno < 0 ? getSystemErrorName(errno) : undefined
}
