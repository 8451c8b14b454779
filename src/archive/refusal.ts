/** The archive cannot be made or dropped now, and nothing was deleted. */
export class ArchiveRefused extends Error {}
