// SSRF protection: the addresses that merchants may make us call. Merchants configure the addresses of webhooks, so a
// host in the operator's own network is refused unless the operator has listed it.

import { BlockList, isIP } from 'node:net'
import { readWebAddress } from '../../core/web-address.ts'

/** What merchants may reach beside the public internet: IP ranges, and hosts by name. */
export interface AllowList {
  readonly ranges: readonly string[]
  readonly names: readonly string[]
}

/** Only the public internet. */
export const ALLOW_NOTHING: AllowList = { ranges: [], names: [] }
/** For a developer's own machine: every local listener. */
export const ALLOW_LOOPBACK: AllowList = { ranges: ['127.0.0.0/8', '::1/128'], names: ['localhost'] }

// The registries of special-purpose addresses (RFC 6890 and its successors), and what they leave out.
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  // Carrier-grade NAT; one cloud has its instance metadata service there.
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Link-local, where most clouds have their instance metadata service with credentials.
  '169.254.0.0/16',
  // Looks public, but only the virtual machines of one cloud reach it: it configures them.
  '168.63.129.16/32',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Of IPv6 only 2000::/3 is allocated; these are the ranges before and after it. They include loopback, private,
  // link-local and multicast addresses, and IPv4 embedded in IPv6 (mapped, compatible, 64:ff9b).
  '::/3',
  '4000::/2',
  '8000::/1',
  // Inside 2000::/3: protocol assignments (Teredo embeds IPv4), documentation, 6to4 (embeds IPv4).
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]

// Suffixes that no public DNS resolves, and that private networks use.
const LOCAL_SUFFIXES = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'home.arpa',
]

export interface AddressRules {
  /** Whether we may connect to this address of the host. */
  permits(host: string, address: string): boolean
  /** Whether the operator has listed the host by name. */
  isListedName(host: string): boolean
  /** The issue with a web address, as the rest of a sentence that begins with the field's name. */
  validate(text: string): string | undefined
}

export function createAddressRules(allow: AllowList, ports: readonly number[]): AddressRules {
  const isRefused = rangeMatcher(NOT_PUBLIC)
  const isAllowed = rangeMatcher(allow.ranges)
  const isListedName = (host: string) => allow.names.includes(host)
  const permitsAddress = (address: string) => isAllowed(address) || !isRefused(address)
  const isListed = (host: string) => isListedName(host) || (isIP(host) !== 0 && isAllowed(host))
  return {
    permits: (host, address) => isListedName(host) || permitsAddress(address),
    isListedName,
    validate: (text) => {
      const url = readWebAddress(text)
      if (!url) return 'must be an https address without user name, spaces or backslashes'
      const host = hostOf(url)
      return isListed(host) ? undefined : (urlIssue(url, ports) ?? hostIssue(host, permitsAddress))
    },
  }
}

/** Plain http and other ports are only for listed hosts: a public host has a certificate. */
function urlIssue(url: URL, ports: readonly number[]): string | undefined {
  if (url.protocol !== 'https:') return 'must begin with https'
  const port = url.port === '' ? 443 : Number(url.port)
  return ports.includes(port) ? undefined : `must use port ${ports.join(' or ')}, not ${port}`
}

const PRIVATE_HOST_ISSUE =
  'must lead to a public host; one in a private network works only if the operator of this service allows it'

function hostIssue(host: string, permits: (address: string) => boolean): string | undefined {
  // An empty label would bypass the check of the suffix.
  if (host.split('.').includes('')) return 'must name a host without empty parts between its dots'
  if (isIP(host) !== 0) return permits(host) ? undefined : PRIVATE_HOST_ISSUE
  return isLocalName(host) ? PRIVATE_HOST_ISSUE : undefined
}

function isLocalName(host: string): boolean {
  return !host.includes('.') || LOCAL_SUFFIXES.some((ending) => host.endsWith(`.${ending}`))
}

/** The form that the rules compare: an address without brackets, a name without its final dot. */
export function hostOf({ hostname }: URL): string {
  return bareHost(hostname)
}

export function bareHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** One list per IP version: a common list would match every IPv4 address in ::/3, as a mapped one. */
function rangeMatcher(ranges: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    lists[familyOf(address)].addSubnet(address, Number(bits), familyOf(address))
  }
  return (address) => lists[familyOf(address)].check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Parses addresses, ranges and host names separated by commas, or `none`; returns the issue if that fails. */
export function readAllowList(text: string): AllowList | { issue: string } {
  if (text === 'none') return ALLOW_NOTHING
  const parts = text.split(',').map((part) => part.trim().toLowerCase())
  const ranges: string[] = []
  const names: string[] = []
  for (const part of parts) {
    const range = readRange(part)
    if (range) ranges.push(range)
    else if (isHostName(part)) names.push(part)
    else return { issue: `has "${part}", which is no address, range such as 10.0.0.0/8, or host name` }
  }
  return { ranges, names }
}

function readRange(part: string): string | undefined {
  const [address = '', bits, ...rest] = part.split('/')
  const most = { 4: 32, 6: 128 }[isIP(address)]
  if (most === undefined || rest.length > 0) return undefined
  const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  return length <= most ? `${address}/${length}` : undefined
}

/** A name that ends in a number would be parsed as an address. */
function isHostName(part: string): boolean {
  return /^(?:[a-z0-9_-]+\.)*[a-z_-][a-z0-9_-]*$/.test(part)
}
