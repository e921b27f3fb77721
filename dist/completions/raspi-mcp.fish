# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_raspi_mcp_global_optspecs
    string join \n config= set= h/help V/version
end

function __fish_raspi_mcp_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_raspi_mcp_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_raspi_mcp_using_subcommand
    set -l cmd (__fish_raspi_mcp_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -s V -l version -d 'Print version'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "serve" -d 'Serve MCP: to the client that started this (--stdio), or over HTTP and a unix socket'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "agent" -d 'Run the privileged half, which changes the machine for the server'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "call" -d 'Call one tool of a running server'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "bridge" -d 'Join a client on standard input and output to a server in the network'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "pins" -d 'Draw the 40-pin header, with what each pin does now'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "tools" -d 'List the tools, with what the configuration says about each'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "schema" -d 'Print, write or check the JSON Schema files of the tools'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "token" -d 'Make bearer tokens'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "tls" -d 'Make a certificate for this server, or show the one it has'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "bundle" -d 'Make, sign and check bundles, which updates are delivered as'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "channel" -d 'Publish which release is for whom, as files for any web space'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "fleet" -d 'Ask many devices how they are: version, slots, last update, health'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "claim" -d 'Make a machine that has no owner yet your own, by the code that it shows'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "allow" -d 'Open a tool, and say for whom and for what; it counts at once. On an installed system as root'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "revoke" -d 'Close again what `raspi-mcp allow` opened'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "approve" -d 'Say yes or no to what a caller wants to do'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "audit" -d 'Check or show the record of all calls'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "slot" -d 'Show the two systems of this machine, install one, go back, or keep the new one'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "prepare" -d 'At the start of an appliance: bring up whose machine it is, and take the owner\'s raspi-mcp.toml'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "grow" -d 'Give the data partition the rest of the card, on images with two slots'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "guard" -d 'Stand between the agent and a command it runs'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "doctor" -d 'Say what is wrong or missing on this machine, and how to mend it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l http -d 'Listen for HTTP here instead of 127.0.0.1:8765; port 0 takes a free one' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l role -d 'What callers on this machine may do: read_only (default), ops_rw or admin. For your own PC' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -l stdio -d 'Serve the client that started this over standard input and output, and nobody else'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand serve" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agent" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agent" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand agent" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -s a -l arg -d 'One argument; the value is JSON, or else a string. May be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l args -d 'All arguments as one JSON object' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l url -d 'A server\'s address, e.g. https://pi.local:8765; without it, the unix socket of the server on this machine' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l pin -d 'The server\'s certificate, by its fingerprint (sha256:...); without it, an authority this machine trusts must vouch for it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l socket -d 'Another unix socket' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l token-file -d 'A file that holds the bearer token; without it, the variable RASPI_MCP_TOKEN' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -l json -d 'For programs: the result as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand call" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l url -d 'The server\'s address, e.g. https://pi.local:8765/mcp' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l pin -d 'The server\'s certificate, by its fingerprint (sha256:...); without it, an authority this machine trusts must vouch for it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l token-file -d 'A file that holds the bearer token; without it, the variable RASPI_MCP_TOKEN' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bridge" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l url -d 'A server\'s address, e.g. https://pi.local:8765; without it, the unix socket of the server on this machine' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l pin -d 'The server\'s certificate, by its fingerprint (sha256:...); without it, an authority this machine trusts must vouch for it' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l socket -d 'Another unix socket' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l token-file -d 'A file that holds the bearer token; without it, the variable RASPI_MCP_TOKEN' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l svg -d 'As a picture for a page (SVG), on standard output'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -l json -d 'For programs: all contacts as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand pins" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l policy -d 'Show what every tool does, its role, tier, policy and time limit, as the configuration has them'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l json -d 'For programs: the full descriptors'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l write -d 'Write DIR/<namespace>/<operation>.json for every tool' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l check -d 'Say which files in DIR are not what this build promises' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "make" -d 'Make a token and print it once; a running server accepts it at once'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "new" -d 'Make a token, print it once, and print the lines that make a server accept it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "list" -d 'The tokens that the configuration has: never the tokens themselves'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from make new list revoke" -f -a "revoke" -d 'Take a token out of the configuration; a running server ends its connections at once'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l name -d 'Who or what will use it, e.g. laptop' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l role -d 'read_only, ops_rw or admin' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l owner -d 'Whose it is: credentials of one owner hold the same pins, and share what one caller may take' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l expires -d 'When it stops working, e.g. 2027-01-01T00:00:00Z; never, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from make" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l name -d 'Who or what will use it, e.g. laptop' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l role -d 'read_only, ops_rw or admin' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l owner -d 'Whose it is: credentials of one owner hold the same pins, and share what one caller may take' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l expires -d 'When it stops working, e.g. 2027-01-01T00:00:00Z; never, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -l json -d 'For programs'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -f -a "init" -d 'Make a key and a self-signed certificate where tls.key and tls.certificate say, and print the fingerprint that clients pin'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and not __fish_seen_subcommand_from init show" -f -a "show" -d 'Print the fingerprint of the certificate there is'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l name -d 'A name or address by which clients reach this machine, beside those it knows of; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -l replace -d 'Take the place of those there are; clients that pinned the old one must be told the new one'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tls; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "build" -d 'Make a bundle of a root image and a boot image'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "sign" -d 'Add a signature to a bundle'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "verify" -d 'Check a bundle: signatures, hashes, every block'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "inspect" -d 'Show what a bundle says of itself, without believing it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "delta-size" -d 'Say how much a device that has the old version would fetch'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "config-keys" -d 'Print the settings that this program knows, one a line, for `build --config-keys`'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "keygen" -d 'Make a pair of keys'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and not __fish_seen_subcommand_from build sign verify inspect delta-size config-keys keygen trust" -f -a "trust" -d 'Make, sign, change and show roots of trust'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l root -d 'Image of the root file system; not compressed inside, so that its blocks are found again in the next version' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l boot -d 'Image of the boot file system, FAT' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l product -d 'What the image is of; devices take their own product only' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l version -d 'Semantic version, e.g. 1.4.0' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l counter -d 'Rises with every release of the product' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l channel -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l layout -d 'The partition layout it was made for' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l hardware -d 'Device-tree compatible of a board it runs on, e.g. raspberrypi,4-model-b; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l created -d 'When it was made, SOURCE_DATE_EPOCH unless told; never the clock, so that the same input makes the same bytes' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l expires -d 'From when on it is not installed any more, e.g. 2027-01-01T00:00:00Z' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l min-eeprom -d 'Oldest bootloader (EEPROM) it starts with' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l revoke-below -d 'Once it has proved itself, no image with a smaller counter is started again' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l config-keys -d 'The settings that the program in the root image knows, as its own `raspi-mcp bundle config-keys` prints them: so that a device can tell which of its settings the release would not understand' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l block-size -d 'Bytes of a block: a power of two from 4096 to 1048576' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l level -d 'How hard zstd works: 1 to 19' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l out -d 'The bundle; it must not be there yet' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -l simulated-boot -d 'In its place, one that only the simulated machine starts'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l key -d 'The secret key' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l from -d 'Take over the signatures of this bundle or head, which has the same manifest' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from sign" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l trust -d 'The root of trust to believe, then those after it in their order; may be repeated' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l now -d 'Check expiry and the time of making as of then; the clock\'s time, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l head -d 'Write the head alone to this file: all that signing needs' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -l json -d 'Print the exact bytes of the manifest, which is JSON, and nothing else'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l block-size -d 'For images, bytes of a block: a power of two from 4096 to 1048576; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l level -d 'For images, how hard zstd works: 1 to 19' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from delta-size" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from config-keys" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from config-keys" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from config-keys" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from keygen" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from keygen" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from keygen" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "init" -d 'Make the first root of a product'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "rotate" -d 'Make the root after this one: what is not named stays'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "sign" -d 'Add a signature to a root; one that follows another needs enough keys of both'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand bundle; and __fish_seen_subcommand_from trust" -f -a "show" -d 'Check roots in their order, as a device does, and show the last'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "publish" -d 'Publish a release, or the same index anew before it expires'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "rollout" -d 'Set the share of devices that get a release'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "pause" -d 'Let no device install anything for now'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "resume" -d 'End a pause'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "revoke" -d 'Withdraw a release: devices that do not have it yet never take it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and not __fish_seen_subcommand_from publish rollout pause resume revoke show" -f -a "show" -d 'Show what a channel says'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l channel -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l key -d 'A secret key of the root of trust\'s channel role; one for each that has to sign' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l trust -d 'The root of trust that devices hold, and those after it: nothing is published that they would not believe' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l created -d 'When it is made, as seconds since 1970 or like 2027-01-01T00:00:00Z; SOURCE_DATE_EPOCH or now, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l days -d 'Days until devices stop believing it: publish it anew before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l bundle -d 'The release: its bundle is copied into the folder. Without one, the index is published anew' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l url -d 'Where the bundle is served, when not from the folder: an https address, or a path below the channel\'s base' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l percent -d 'The share of devices that get it for now' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l ring -d 'Only for devices in this ring; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l min-counter -d 'The oldest counter it can be installed from' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l notes -d 'A file with what is new, for people: plain text' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l notes-url -d 'Where more of that is' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l product -d 'What images are of, for the first index of a channel without a release' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l root -d 'A root of trust to be served to devices that hold the one before it; may be repeated' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from publish" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l channel -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l key -d 'A secret key of the root of trust\'s channel role; one for each that has to sign' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l trust -d 'The root of trust that devices hold, and those after it: nothing is published that they would not believe' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l created -d 'When it is made, as seconds since 1970 or like 2027-01-01T00:00:00Z; SOURCE_DATE_EPOCH or now, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l days -d 'Days until devices stop believing it: publish it anew before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from rollout" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l channel -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l key -d 'A secret key of the root of trust\'s channel role; one for each that has to sign' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l trust -d 'The root of trust that devices hold, and those after it: nothing is published that they would not believe' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l created -d 'When it is made, as seconds since 1970 or like 2027-01-01T00:00:00Z; SOURCE_DATE_EPOCH or now, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l days -d 'Days until devices stop believing it: publish it anew before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l channel -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l key -d 'A secret key of the root of trust\'s channel role; one for each that has to sign' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l trust -d 'The root of trust that devices hold, and those after it: nothing is published that they would not believe' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l created -d 'When it is made, as seconds since 1970 or like 2027-01-01T00:00:00Z; SOURCE_DATE_EPOCH or now, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l days -d 'Days until devices stop believing it: publish it anew before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l channel -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l key -d 'A secret key of the root of trust\'s channel role; one for each that has to sign' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l trust -d 'The root of trust that devices hold, and those after it: nothing is published that they would not believe' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l created -d 'When it is made, as seconds since 1970 or like 2027-01-01T00:00:00Z; SOURCE_DATE_EPOCH or now, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l days -d 'Days until devices stop believing it: publish it anew before' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l channel -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l trust -d 'The root of trust to judge it by, and those after it; without one nothing is verified' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand channel; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and not __fish_seen_subcommand_from status" -f -a "status" -d 'Ask each device, several at once: its version, both slots, how the last update ended, what is wrong'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l inventory -d 'The list of devices, TOML: tables [[devices]] with name, url, pin and token_file (docs/fleet.md)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -l json -d 'For programs: everything, as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand fleet; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l fingerprint -d 'The fingerprint of its certificate, as it shows it (sha256:...); no other machine is sent the code' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l code -d 'The code it shows; without it, you are asked for it. Other users of this computer can see what is on a command line' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l out -d 'Put the token into this new file, which only you can read, instead of printing it' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l json -d 'For programs: address, fingerprint and token as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -l show -d 'On the machine itself, as root: show code, fingerprint, addresses and QR code until it has an owner'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand claim" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l pin -d 'A pin, by its Broadcom number; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l device -d 'An I2C device or a range of them, like 1:0x48 or 1:0x50-0x57; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l path -d 'A folder of files.*, by its full path, with all that is in it; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l for -d 'For this caller alone, whatever its role: a token or user of that name, or as the audit names it (token:NAME, loopback, stdio, uid:1000, jwt:NAME); may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l list -d 'Show what was opened, for whom, by whom and when'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -l ask -d 'Have a person approve every call of it (raspi-mcp approve)'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand allow" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l pin -d 'A pin, by its Broadcom number; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l device -d 'An I2C device or a range of them, like 1:0x48 or 1:0x50-0x57; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l path -d 'A folder of files.*, by its full path, with all that is in it; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l for -d 'For this caller alone, whatever its role: a token or user of that name, or as the audit names it (token:NAME, loopback, stdio, uid:1000, jwt:NAME); may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand revoke" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l deny -d 'Say no, without a question'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l list -d 'Only show what waits'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -f -a "verify" -d 'Check every record against the chain of hashes, and the chain against what the agent saw'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -f -a "accept-gap" -d 'Accept that records are missing: as root or an approver, after `verify` has said which'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify accept-gap show" -f -a "show" -d 'Print the newest records'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l file -d 'A store other than this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l json -d 'For programs: the report as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l file -d 'A store other than this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -l yes -d 'Do not ask'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from accept-gap" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit -d 'How many' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l tool -d 'Only calls of this tool' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l principal -d 'Only calls by this caller' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l outcome -d 'Only calls that ended so: ok, an error code, or unknown' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l file -d 'A store other than this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l json -d 'For programs: one record a line'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good" -f -a "status" -d 'Show both slots, the last update, and a trial that runs'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good" -f -a "install" -d 'Write a bundle into the slot that does not run, and have it tried at the next restart'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good" -f -a "rollback" -d 'Go back to the other slot: out of a trial, away from an armed one, or from a version that misbehaves'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and not __fish_seen_subcommand_from status install rollback mark-good" -f -a "mark-good" -d 'Keep the system that is on trial, if all checks find it healthy'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -l json -d 'For programs: everything, as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -l reboot -d 'Restart into it at once'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -s y -l yes -d 'Ask nothing'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -l dry-run -d 'Only say what would happen'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -s y -l yes -d 'Ask nothing'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from mark-good" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from mark-good" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand slot; and __fish_seen_subcommand_from mark-good" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand prepare" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand prepare" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand prepare" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l layout -d 'The layout of the card, in place of the image\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -l dry-run -d 'Only say what would be written'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand grow" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand guard" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand guard" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand guard" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l bundle -d 'With --update: also whether this release would understand the configuration; a bundle or the head of one, as it says of itself' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l all -d 'Show every setting with where it comes from, not only those that differ from the default'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l update -d 'Only whether an update could go well now: slots, space, keys, power, wear, boot loader, time'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l json -d 'For programs: everything, as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -s h -l help -d 'Print help'
