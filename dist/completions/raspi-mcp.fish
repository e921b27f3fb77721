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
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "approve" -d 'Say yes or no to what a caller wants to do'
complete -c raspi-mcp -n "__fish_raspi_mcp_needs_command" -f -a "audit" -d 'Check or show the record of all calls'
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
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l policy -d 'Show role, tier, policy and time limit of every tool, as the configuration has them'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -l json -d 'For programs: the full descriptors'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand tools" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l write -d 'Write DIR/<namespace>/<operation>.json for every tool' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l check -d 'Say which files in DIR are not what this build promises' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand schema" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from new" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from new" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and not __fish_seen_subcommand_from new" -f -a "new" -d 'Make a token, print it once, and print the lines that make a server accept it'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l name -d 'Who or what will use it, e.g. laptop' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l role -d 'read_only, ops_rw or admin' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l expires -d 'When it stops working, e.g. 2027-01-01T00:00:00Z; never, unless told' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand token; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
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
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l deny -d 'Say no, without a question'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -l list -d 'Only show what waits'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand approve" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -f -a "verify" -d 'Check every record against the chain of hashes, and the chain against what the agent saw'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -f -a "show" -d 'Print the newest records'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l file -d 'A store other than this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -l json -d 'For programs: the report as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit -d 'How many' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l tool -d 'Only calls of this tool' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l principal -d 'Only calls by this caller' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l outcome -d 'Only calls that ended so: ok, or an error code' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l file -d 'A store other than this machine\'s' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -l json -d 'For programs: one record a line'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand audit; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand guard" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand guard" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand guard" -s h -l help -d 'Print help'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l config -d 'Read this file in place of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)' -r -F
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l set -d 'Set one key, as in --set limits.reads_per_minute=100; may be repeated' -r
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l all -d 'Show every setting with where it comes from, not only those that differ from the default'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -l json -d 'For programs: everything, as JSON'
complete -c raspi-mcp -n "__fish_raspi_mcp_using_subcommand doctor" -s h -l help -d 'Print help'
